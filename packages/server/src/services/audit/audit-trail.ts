import { RequestError } from '@berth/protocol/request-error';
import type { Actor } from '../../core/nouns/actor.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { AuditVerdict, ListAudit } from '../../store/query.ts';
import type { Executed, Store } from '../../store/store.ts';
import { readIdentityKey } from '../identity/identity-key.ts';
import { createRoom, type Room } from '../lending/room.ts';
import { exportAudit } from './export-audit.ts';
import { type AuditFilter, type Dates, type FoundEvents, searchAudit } from './search-audit.ts';

/** Searches, verifies, exports and thins out the audit log. */
export interface AuditTrail {
  /** `signal`: the client has disconnected. */
  search(input: AuditFilter, signal: AbortSignal): Promise<FoundEvents>;
  /** `signal`: the client has disconnected. */
  verify(signal: AbortSignal): Promise<AuditVerdict>;
  /** Replaces links from before an instant with totals, in as many commits as needed. */
  thin(input: ThinInput, by: Actor): Promise<Executed>;
  /** The log, or what was written within dates, in lines, signed. `signal`: the client has disconnected. */
  export(wish: ExportWish, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>;
  /** Signs the heads of all chains, unless nothing has happened since. */
  signHeads(): Promise<void>;
  /** The fingerprint of the key that signs heads and exports. */
  readKeyFingerprint(): Promise<string>;
}

interface ExportWish {
  readonly caller: string;
  readonly hardwareId: string;
  readonly dates: Dates;
}

interface ThinInput {
  readonly before: Instant;
  readonly chain: ListAudit['chain'];
  /** What is younger stays. */
  readonly keptMs?: number;
}

/** The store verifies the log once for all waiting callers; each holds a connection. */
const MAX_VERIFIES = 8;
/** An export reads the whole log, page by page, while the server works. A caller may have one. */
const MAX_EXPORTS = 2;
const RETRY_AFTER_SECONDS = 10;

export function createAuditTrail(store: Store): AuditTrail {
  const verifies = createRoom(
    MAX_VERIFIES,
    `${MAX_VERIFIES} callers are already waiting for the audit log to be verified. Try again later.`,
    RETRY_AFTER_SECONDS,
  );
  const exports = createRoom(
    MAX_EXPORTS,
    `${MAX_EXPORTS} exports of the audit log are already running, or yours. Try again when one has ended.`,
    RETRY_AFTER_SECONDS,
    1,
  );
  return {
    search: (input, signal) => searchAudit(store, input, signal),
    async verify(signal) {
      const leave = verifies.enter();
      try {
        return await store.read({ kind: 'verify_audit' }, signal);
      } catch (error) {
        throw signal.aborted ? new RequestError('bad_request', 'The client disconnected.') : error;
      } finally {
        leave();
      }
    },
    thin: (input, by) => thinAll(store, input, by),
    export: (wish, signal) => exportWithin(exports, store, wish, signal),
    async signHeads() {
      await store.execute({ kind: 'sign_heads' });
    },
    readKeyFingerprint: async () => (await readIdentityKey(store)).fingerprint,
  };
}

/** An export counts until it has ended, or its client has disconnected. */
async function exportWithin(
  room: Room,
  store: Store,
  { caller, ...wish }: ExportWish,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const onEnd = room.enter(caller);
  try {
    if (signal.aborted) onEnd();
    signal.addEventListener('abort', onEnd, { once: true });
    return await exportAudit(store, { ...wish, signal, onEnd });
  } catch (error) {
    onEnd();
    throw error;
  }
}

async function thinAll(store: Store, input: ThinInput, by: Actor): Promise<Executed> {
  let links = 0;
  for (;;) {
    const outcome = await store.execute({ kind: 'thin_audit', ...input, by });
    if (outcome.kind !== 'done') return outcome;
    links += outcome.count;
    // Fewer than the maximum does not mean the end: a link in between may have a date in the future.
    if (outcome.count === 0) return { kind: 'done', count: links };
  }
}
