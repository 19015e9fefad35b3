import type { LicenseId } from '../../core/nouns/license.ts';
import { COLLECT_LIMIT } from '../../core/view.ts';
import type { Store } from '../../store/store.ts';

/** Keeps the store tidy; no answer depends on it. */
export interface Housekeeping {
  keepClock(): Promise<void>;
  /** Collects ended slots of all licenses. Returns how many. */
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

/** One command collects a bounded number, so a license may need several. */
async function sweepLicense(store: Store, licenseId: LicenseId): Promise<number> {
  let collected = 0;
  for (;;) {
    const outcome = await store.execute({ kind: 'collect', licenseId });
    const count = outcome.kind === 'done' ? outcome.count : 0;
    collected += count;
    if (count < COLLECT_LIMIT) return collected;
  }
}
