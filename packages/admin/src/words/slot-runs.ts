import type { Reserved } from './rules.ts';

/** Slots that stand together in a bar, in this order. */
export interface SlotRun {
  readonly held: number;
  readonly lent: number;
  readonly toCome: number;
  readonly free: number;
  readonly isReserved: boolean;
}

interface Counts {
  readonly slots: number;
  readonly inUse: number;
  readonly borrowed: number;
}

/** What everybody holds, then what is reserved, then what is free. Together they are all slots. */
export function splitSlots(counts: Counts, reserved: readonly Reserved[]): readonly SlotRun[] {
  let used = Math.max(0, counts.inUse);
  let lent = Math.min(counts.borrowed, used);
  let free = Math.max(0, counts.slots - used);
  // More may be reserved than there is.
  const shown = reserved.map(({ slots, stillToCome }) => {
    const filled = Math.min(slots - stillToCome, used);
    const toCome = Math.min(stillToCome, free);
    used -= filled;
    free -= toCome;
    return { filled, toCome };
  });
  const take = (count: number) => {
    const own = Math.min(lent, count);
    lent -= own;
    return { held: count - own, lent: own };
  };
  const none = { toCome: 0, free: 0, isReserved: false };
  if (shown.length === 0) return [{ ...none, ...take(used), free }];
  const runs = [
    { ...none, ...take(used) },
    ...shown.map(({ filled, toCome }) => ({ ...take(filled), toCome, free: 0, isReserved: true })),
    { ...none, held: 0, lent: 0, free },
  ];
  return runs.filter((run) => run.held + run.lent + run.toCome + run.free > 0);
}
