import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import type { LicenseObject } from '@berth/protocol/api/license-object';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { get } from '../../data/api.ts';
import { useLicenses } from '../../data/overview.ts';
import { useSettings } from '../../data/settings.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { Loading, Show } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { nameOf } from '../../words/judge-license.ts';
import { formatNumber } from '../../words/numbers.ts';
import { findMissingKeys } from './vendor-keys.tsx';

export interface WayProps {
  readonly added: LicenseObject | null;
  readonly onAdded: (license: LicenseObject) => void;
  /** Starts again, for the next license. */
  readonly onAgain: () => void;
}

interface TwoColumnsProps {
  readonly travels: readonly Travel[];
  readonly children: ComponentChildren;
}

/** Something that goes one way between this server and the vendor. */
export interface Travel {
  readonly what: string;
  readonly way: 'in' | 'out';
  readonly is: 'done' | 'now' | 'later';
}

/** The steps, and beside them what travels and which way. */
export function WayColumns({ travels, children }: TwoColumnsProps) {
  return (
    <div class="columns">
      <ol class="steps">{children}</ol>
      <aside class="travel" aria-label="What travels, and which way">
        <h3>What travels, and which way</h3>
        <ol>
          {travels.map(({ what, way, is }) => (
            <li key={what} class={is}>
              <b>{what}</b>
              {way === 'out' ? 'This server → the vendor' : 'The vendor → this server'}
              {is === 'done' ? ', done' : is === 'now' ? ', you are here' : ''}
            </li>
          ))}
        </ol>
      </aside>
    </div>
  );
}

/** Whether a step is behind the reader, the current one, or ahead. */
export function placeOf(number: number, step: number): Travel['is'] {
  return number < step ? 'done' : number === step ? 'now' : 'later';
}

/** A request that the vendor has not answered. */
type WaitingRequest = GetAnswer<'/api/admin/license-requests'>['requests'][number];

/** What has to be known before the first step can be shown. */
export interface Ready {
  readonly missing: ReturnType<typeof findMissingKeys>;
  readonly onKeys: () => void;
  readonly waiting: WaitingRequest | null;
}

interface WhenReadyProps {
  readonly kind: WaitingRequest['request'];
  readonly children: (ready: Ready) => ComponentChildren;
}

/** Finds out which keys of the vendor are missing, and which request waits for its answer. */
export function WhenReady({ kind, children }: WhenReadyProps) {
  const settings = useSettings();
  const waiting = useWaitingRequest(kind);
  return (
    <Show of={settings} what="The settings">
      {() => {
        if (waiting === undefined) return <Loading />;
        const missing = findMissingKeys(settings, { isByCodes: kind === 'airgap' });
        return children({ missing, onKeys: settings.reload, waiting });
      }}
    </Show>
  );
}

/** The newest; `undefined` until it is known. Read once, so that no step moves while somebody types. */
function useWaitingRequest(kind: WaitingRequest['request']): WaitingRequest | null | undefined {
  const [found, setFound] = useState<WaitingRequest | null | undefined>(undefined);
  useEffect(() => {
    const control = new AbortController();
    get('/api/admin/license-requests', {}, control.signal)
      .then(({ requests }) => setFound(requests.find(({ request }) => request === kind) ?? null))
      .catch(() => control.signal.aborted || setFound(null));
    return () => control.abort();
  }, [kind]);
  return found;
}

interface WaitingProps {
  readonly request: WaitingRequest;
  /** What was made: "The request". */
  readonly what: string;
  /** What the vendor answers with: "the license file". */
  readonly answer: string;
  readonly onDone: () => void;
  /** What to make instead, and how. */
  readonly another: readonly [string, () => void];
  readonly children: ComponentChildren;
}

/** Somebody was here before, and the vendor's answer is not here yet. */
export function Waiting({
  request,
  what,
  answer,
  onDone,
  another: [verb, onAnother],
  children,
}: WaitingProps) {
  return (
    <>
      <p class="step-lead">
        {what} <RequestName request={request} /> has no answer yet. {children}
      </p>
      <p class="done-line">
        <Button as="primary" onClick={onDone}>
          I have {answer}
        </Button>
        <Button onClick={onAnother}>{verb}</Button>
      </p>
    </>
  );
}

/** "of 14:02, for the license key that ends with DDDD" */
function RequestName({ request }: { readonly request: WaitingRequest }) {
  const { made_at, key_end, product } = request;
  return (
    <>
      of <Time at={made_at} />
      {key_end !== null && (
        <>
          , for the license key that ends with <code>{key_end}</code>
        </>
      )}
      {key_end === null && product !== null && (
        <>
          , for the product <bdi>{product}</bdi>
        </>
      )}
    </>
  );
}

interface DoneProps extends Pick<WayProps, 'onAgain'> {
  readonly license: LicenseObject;
}

/** The last step of every way. The first license leads on to the first application. */
export function Done({ license, onAgain }: DoneProps) {
  const isFirst = useLicenses().data?.licenses.length === 1;
  return (
    <>
      <p class="step-lead">
        <b>
          <bdi>{nameOf(license)}</bdi>
        </b>{' '}
        has {formatNumber(license.floating_users)} slots. Applications can take them now.
      </p>
      <p class="done-line">
        {isFirst && (
          <ButtonLink as="primary" to="welcome">
            Point an application here
          </ButtonLink>
        )}
        <ButtonLink {...(isFirst ? {} : { as: 'primary' })} to={`licenses/${license.license_id}`}>
          See the license
        </ButtonLink>
        <Button onClick={onAgain}>Add another one</Button>
      </p>
    </>
  );
}
