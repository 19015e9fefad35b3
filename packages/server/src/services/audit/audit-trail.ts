import type { Actor } from '../../core/nouns/actor.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { AuditLink, AuditVerdict, ListAudit } from '../../store/query.ts';
import type { Executed, Store } from '../../store/store.ts';
import { createRoom, type Room } from '../lending/room.ts';
import { RequestError } from '../request-error.ts';
import { readIdentityKey } from '../upkeep/identity-key.ts';
import { exportAudit } from './export-audit.ts';

/** What was recorded: to look at, to check, to take elsewhere and to thin out. */
export interface AuditTrail {
  list(filter: Omit<ListAudit, 'kind'>): Promise<readonly AuditLink[]>;
  /** `signal`: whoever asks has gone away. */
  verify(signal: AbortSignal): Promise<AuditVerdict>;
  /** Puts totals in the place of links from before an instant, in as many commits as it takes. */
  thin(wish: ThinWish, by: Actor): Promise<Executed>;
  /** The whole log in lines, signed. `signal`: whoever reads it has gone away. */
  export(hardwareId: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>;
  /** Signs where all chains stand, unless nothing has happened since. */
  signHeads(): Promise<void>;
  /** Of the key that heads and exports are signed with. */
  readKeyFingerprint(): Promise<string>;
}

interface ThinWish {
  readonly before: Instant;
  readonly chain: ListAudit['chain'];
}

/** The store checks the log once for all who wait; each of them holds a connection. */
const MOST_VERIFIES = 8;
/** An export reads the whole log, page by page, beside everything else. */
const MOST_EXPORTS = 2;
const RETRY_AFTER_SECONDS = 10;

export function createAuditTrail(store: Store): AuditTrail {
  const verifies = createRoom(
    MOST_VERIFIES,
    `${MOST_VERIFIES} callers wait for a check of the audit log already. Try again later.`,
    RETRY_AFTER_SECONDS,
  );
  const exports = createRoom(
    MOST_EXPORTS,
    `${MOST_EXPORTS} exports of the audit log are under way already. Try again when one has ended.`,
    RETRY_AFTER_SECONDS,
  );
  return {
    list: (filter) => store.read({ kind: 'list_audit', ...filter }),
    async verify(signal) {
      const leave = verifies.enter();
      try {
        return await store.read({ kind: 'verify_audit' }, signal);
      } catch (error) {
        throw signal.aborted ? new RequestError('bad_request', 'The client went away.') : error;
      } finally {
        leave();
      }
    },
    thin: (wish, by) => thinAll(store, wish, by),
    export: (hardwareId, signal) => exportWithin(exports, store, hardwareId, signal),
    async signHeads() {
      await store.execute({ kind: 'sign_heads' });
    },
    readKeyFingerprint: async () => (await readIdentityKey(store)).fingerprint,
  };
}

/** An export has its place until it has ended, or its reader has gone away. */
async function exportWithin(
  room: Room,
  store: Store,
  hardwareId: string,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const onEnd = room.enter();
  try {
    if (signal.aborted) onEnd();
    signal.addEventListener('abort', onEnd, { once: true });
    return await exportAudit(store, { hardwareId, signal, onEnd });
  } catch (error) {
    onEnd();
    throw error;
  }
}

async function thinAll(store: Store, wish: ThinWish, by: Actor): Promise<Executed> {
  let links = 0;
  for (;;) {
    const outcome = await store.execute({ kind: 'thin_audit', ...wish, by });
    if (outcome.kind !== 'done') return outcome;
    links += outcome.count;
    // Fewer than the most are no sign of the end: the next ones may have got a date too far ahead.
    if (outcome.count === 0) return { kind: 'done', count: links };
  }
}
