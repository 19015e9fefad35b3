import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { readNow } from '../clock.ts';
import type { ApiError } from '../data/api.ts';
import type { Resource } from '../data/resource.ts';
import { localizeTimes } from '../words/time.ts';
import { Button } from './button.tsx';
import { Shape } from './shape.tsx';
import { showToast } from './toasts.tsx';

/** Shown only if it takes longer, so that quick answers do not flicker. */
const LOADING_MS = 300;

interface LoadingProps {
  readonly rows?: number;
  /** A whole screen: its heading is not known yet. */
  readonly hasHead?: boolean;
}

export function Loading({ rows = 5, hasHead = false }: LoadingProps) {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), LOADING_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {isSlow && hasHead && <span class="skeleton-head" />}
      {isSlow && Array.from({ length: rows }, (_, index) => <span key={index} />)}
    </div>
  );
}

interface ErrorBoxProps {
  /** What could not be done: "The slots could not be read." */
  readonly title: string;
  readonly error: ApiError;
  readonly onRetry?: () => void;
}

/** What happened and what to do. */
export function ErrorBox({ title, error, onRetry }: ErrorBoxProps) {
  const details = `${title} ${error.message} (${error.status}, ${error.code}) ${JSON.stringify(error.facts)}`;
  return (
    <div class="error-box" role="alert">
      <Shape level="critical" />
      <div>
        <b>{title}</b>
        <p>
          {localizeTimes(error.message, readNow())}{' '}
          <span class="quiet">
            ({error.status > 0 ? `${error.status}, ` : ''}
            {error.code})
          </span>
        </p>
        <div class="buttons">
          {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
          <CopyButton text={details} label="Copy details" />
        </div>
      </div>
    </div>
  );
}

interface ShowProps<T> {
  readonly of: Resource<T>;
  /** What it is: "The slots". */
  readonly what: string;
  readonly rows?: number;
  readonly hasHead?: boolean;
  readonly children: (data: T) => ComponentChildren;
}

/** Loading, an error or the data. What was read before stays visible when reading it again fails. */
export function Show<T>({ of, what, rows = 5, hasHead = false, children }: ShowProps<T>) {
  if (of.data !== null) return <>{children(of.data)}</>;
  if (of.isMissing) return null;
  if (of.error === null) return <Loading rows={rows} hasHead={hasHead} />;
  return <ErrorBox title={`${what} could not be read.`} error={of.error} onRetry={of.reload} />;
}

interface EmptyProps {
  readonly title: string;
  readonly picture?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** Nothing is there: says what to do next. */
export function Empty({ title, picture, children }: EmptyProps) {
  return (
    <div class="empty">
      {picture}
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** A command to copy. */
export function Command({ text }: { readonly text: string }) {
  return (
    <div class="command">
      <code tabIndex={0}>{text}</code>
      <CopyButton text={text} label="Copy" />
    </div>
  );
}

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <Button icon="copy" onClick={() => copyText(text)}>
      {label}
    </Button>
  );
}

export async function copyText(text: string): Promise<void> {
  // Browsers offer the clipboard only over TLS and on the same machine.
  const isCopied = await (
    navigator.clipboard?.writeText(text).then(() => true) ?? Promise.resolve(false)
  ).catch(() => false);
  showToast(isCopied || copyByHand(text) ? 'Copied.' : 'The browser does not allow copying here.');
}

/** The old way, which works over plain HTTP, too. */
function copyByHand(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  return isCopied;
}
