/** Everything in whole minutes. */
interface NaiveHistory {
  readonly from: number;
  readonly to: number;
  /** The most slots in use in a minute. */
  use(minute: number): number;
  /** The buckets in which slots were granted. */
  readonly grants: readonly { readonly minute: number; readonly count: number }[];
  readonly denied: readonly { readonly who: string; readonly first: number; readonly last: number }[];
  readonly duration: number;
}

/** Replays a history with `n` slots, minute by minute, as `core/history/what-if.ts` defines it. */
export function replayNaively({ from, to, use, grants, denied, duration }: NaiveHistory, n: number) {
  const holders: number[] = [];
  const lastOf = new Map<string, { minute: number; patience: number }>();
  const refused: { minute: number; patience: number }[] = [];
  let asked = 0;
  const holding = (minute: number) => holders.filter((s) => s <= minute && minute < s + duration).length;
  for (let minute = from; minute < to; minute++) {
    for (const grant of grants.filter((one) => one.minute === minute)) {
      const above = Math.max(0, use(minute) - n);
      for (let i = 0; i < Math.min(grant.count, above); i++) refused.push({ minute, patience: duration });
    }
    const now = denied.filter(({ first, last }) => first === minute || last === minute);
    for (const who of [...new Set(now.map((one) => one.who))].sort()) {
      const last = lastOf.get(who);
      if (last !== undefined && minute - last.minute < duration) {
        last.patience = minute + 1 - last.minute;
        continue;
      }
      const request = { minute, patience: 1 };
      lastOf.set(who, request);
      asked += 1;
      if (use(minute) + holding(minute) < n) holders.push(minute);
      else refused.push(request);
    }
  }
  let waiting = 0;
  for (const { minute, patience } of refused) {
    let free = minute + 1;
    while (free < Math.min(to, minute + patience) && use(free) + holding(free) >= n) free += 1;
    waiting += free - minute;
  }
  return { asked, denials: refused.length, waitingMs: waiting * 60_000 };
}
