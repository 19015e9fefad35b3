import type { Actor } from '../core/actor.ts';
import type { Instant } from '../core/instant.ts';
import type { AuditLink, AuditVerdict, ListAudit } from '../store/query.ts';
import type { Executed, Store } from '../store/store.ts';
import { exportAudit } from './export-audit.ts';
import { readIdentityKey } from './identity-key.ts';

/** What was recorded: to look at, to check, to take elsewhere and to thin out. */
export interface AuditTrail {
  list(filter: Omit<ListAudit, 'kind'>): Promise<readonly AuditLink[]>;
  verify(): Promise<AuditVerdict>;
  /** Puts totals in the place of links from before an instant, in as many commits as it takes. */
  thin(wish: ThinWish, by: Actor): Promise<Executed>;
  /** The whole log in lines, signed. */
  export(hardwareId: string): Promise<ReadableStream<Uint8Array>>;
  /** Signs where all chains stand, unless nothing has happened since. */
  signHeads(): Promise<void>;
  /** Of the key that heads and exports are signed with. */
  readKeyFingerprint(): Promise<string>;
}

export interface ThinWish {
  readonly before: Instant;
  readonly chain: ListAudit['chain'];
}

export function createAuditTrail(store: Store): AuditTrail {
  return {
    list: (filter) => store.read({ kind: 'list_audit', ...filter }),
    verify: () => store.read({ kind: 'verify_audit' }),
    thin: (wish, by) => thinAll(store, wish, by),
    export: (hardwareId) => exportAudit(store, hardwareId),
    async signHeads() {
      await store.execute({ kind: 'sign_heads' });
    },
    readKeyFingerprint: async () => (await readIdentityKey(store)).fingerprint,
  };
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
