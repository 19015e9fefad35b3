import { useEffect, useRef } from 'preact/hooks';
import { createValue, useValue } from '../data/value.ts';
import { Icon } from './icon.tsx';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly undo: (() => void) | null;
}

const toasts = createValue<readonly Toast[]>([]);
let lastId = 0;

/** How long it stays, unless it is focused or pointed at. */
const SHORT_MS = 4000;
const UNDO_MS = 10_000;

/** Says what was done; with `undo`, offers to take it back. Errors are shown where they happen instead. */
export function showToast(text: string, undo: (() => void) | null = null): void {
  lastId += 1;
  toasts.set([...toasts.get().slice(-2), { id: lastId, text, undo }]);
}

function dismiss(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

/** Takes back what was done last, if that is still offered. */
export function undoLast(): void {
  const last = toasts.get().findLast(({ undo }) => undo !== null);
  if (last === undefined) return;
  dismiss(last.id);
  last.undo?.();
}

export function Toasts() {
  const shown = useValue(toasts);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map((toast) => (
        <ToastLine key={toast.id} toast={toast} />
      ))}
    </div>
  );
}

function ToastLine({ toast }: { readonly toast: Toast }) {
  const isHeld = useRef(false);
  useEffect(() => {
    let leftMs = toast.undo === null ? SHORT_MS : UNDO_MS;
    const timer = setInterval(() => {
      if (!isHeld.current) leftMs -= 500;
      if (leftMs <= 0) dismiss(toast.id);
    }, 500);
    return () => clearInterval(timer);
  }, [toast]);
  const hold = (isOn: boolean) => () => {
    isHeld.current = isOn;
  };
  return (
    <div
      class="toast fade"
      onMouseEnter={hold(true)}
      onMouseLeave={hold(false)}
      onFocusCapture={hold(true)}
      onBlurCapture={hold(false)}
    >
      <span class="grow">{toast.text}</span>
      {toast.undo !== null && (
        <button type="button" onClick={undoLast}>
          <Icon name="undo" />
          Undo <span>Z</span>
        </button>
      )}
    </div>
  );
}
