import type { LicenseId } from '../../core/nouns/license.ts';
import { COLLECT_LIMIT } from '../../core/view.ts';
import type { Store } from '../../store/store.ts';

/** What keeps the store tidy; no answer depends on it. */
export interface Housekeeping {
  keepClock(): Promise<void>;
  /** Collects what has ended, on every license. Answers how many slots that were. */
  sweep(): Promise<number>;
}

export function createHousekeeping(store: Store): Housekeeping {
  return {
    async keepClock() {
      await store.keepClock();
    },
    async sweep() {
      let collected = 0;
      for (const id of await store.read({ kind: 'list_untidy' })) collected += await sweepLicense(store, id);
      return collected;
    },
  };
}

/** One command collects a bounded number, so a license that much has ended on takes several. */
async function sweepLicense(store: Store, licenseId: LicenseId): Promise<number> {
  let collected = 0;
  for (;;) {
    const outcome = await store.execute({ kind: 'collect', licenseId });
    const count = outcome.kind === 'done' ? outcome.count : 0;
    collected += count;
    if (count < COLLECT_LIMIT) return collected;
  }
}
