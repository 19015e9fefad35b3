import { type SlotBucket, stretchesOf } from '../../core/history/slot-points.ts';
import { whatIf } from '../../core/history/what-if.ts';
import { bucketStart, DAY_MS, earlier, type Instant, MINUTE_MS } from '../../core/nouns/instant.ts';
import type {
  ListWhatIfDenials,
  WhatIfAnswer,
  WhatIfDenial,
  WhatIfScope,
} from '../../store/history-query.ts';
import type { Store } from '../../store/store.ts';
import { stopIf, type Task } from '../tasks/task.ts';

interface Asked extends WhatIfScope {
  readonly now: Instant;
}

type Reader = Pick<Store, 'read'>;

/** How it would have gone with more or fewer slots; `null`: there is no such license or feature. */
export const ASK_WHAT_IF: Task<Asked, WhatIfAnswer | null, Reader> = {
  name: 'ask what if',
  seconds: 300,
  refusal: 'validation_error',
  advice: 'Ask about fewer days, with "since".',
  async do({ now, ...scope }, store, signal) {
    const begun = await store.read({ kind: 'begin_what_if', ...scope });
    if (begun === null) return null;
    const buckets = await readBuckets(store, scope, signal);
    const denials = await readDenials(store, scope, signal);
    const { start, medianMinutes, ...facts } = begun;
    const stretches = stretchesOf(start, buckets, scope.since, earlier(scope.until, now));
    return {
      ...facts,
      medianMs: medianMinutes === null ? null : medianMinutes * MINUTE_MS,
      ...whatIf(stretches, denials, medianMinutes ?? 1, facts.slots),
    };
  },
};

/** One page takes a few milliseconds, for which other requests wait. A day has fewer buckets. */
const ROWS_AT_ONCE = 3000;

async function readBuckets(
  store: Reader,
  { since, ...scope }: WhatIfScope,
  signal: AbortSignal,
): Promise<readonly SlotBucket[]> {
  const buckets: SlotBucket[] = [];
  for (let from = since; ; ) {
    stopIf(signal);
    const about = { ...scope, since: from, limit: ROWS_AT_ONCE };
    const page: readonly SlotBucket[] = await store.read({ kind: 'list_what_if_buckets', ...about });
    const last = page.at(-1);
    if (last === undefined || page.length < ROWS_AT_ONCE) return buckets.concat(page);
    // Only whole days: the history may be thinned out before the next page is read.
    from = bucketStart(last.at, DAY_MS);
    buckets.push(
      ...page.slice(
        0,
        page.findIndex(({ at }) => at >= from),
      ),
    );
  }
}

/** Most that are looked at, the newest. */
const MAX_DENIALS = 200_000;

async function readDenials(store: Reader, scope: WhatIfScope, signal: AbortSignal) {
  const denials: WhatIfDenial[] = [];
  for (let after: ListWhatIfDenials['after'] = null; ; ) {
    stopIf(signal);
    const about = { ...scope, after, limit: ROWS_AT_ONCE };
    const page: readonly WhatIfDenial[] = await store.read({ kind: 'list_what_if_denials', ...about });
    denials.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < ROWS_AT_ONCE) break;
    const { firstAt: _, lastAt: __, ...key } = last;
    after = key;
  }
  const newest = denials.sort((a, b) => b.at - a.at).slice(0, MAX_DENIALS);
  return newest.map(({ user, others, ...times }) => ({ ...times, who: others === 1 ? '' : user }));
}
