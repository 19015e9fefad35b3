/** Held slots by the groups of their holders: the names of a key are joined with commas. */
export type HeldByGroups = ReadonlyMap<string, number>;

/** Corrects a count of held slots. One that is 0 is not kept. */
export function addTo(counts: Map<string, number>, key: string, difference: number): void {
  const count = (counts.get(key) ?? 0) + difference;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

interface Reserved {
  readonly slots: number;
  readonly for: string;
}

/**
 * How many reserved slots are not filled yet. Every held slot fills at most one reservation of a group that
 * its holder is in, and they are assigned so that as many as possible are filled.
 */
export function countStillToCome(reservations: readonly Reserved[], held: HeldByGroups): number {
  const spare = reservations.map(({ slots }) => slots);
  const classes = [...held].map(([key, slots]) => ({ slots, may: listFillable(reservations, key) }));
  const filled = classes.map(() => reservations.map(() => 0));
  let toCome = spare.reduce((sum, slots) => sum + slots, 0);
  for (const [index, { slots, may }] of classes.entries()) {
    for (let left = slots; left > 0 && may.length > 0; ) {
      const path = findPath(index);
      if (path === null) break;
      const pushed = Math.min(left, limitOf(path));
      push(path, pushed);
      left -= pushed;
      toCome -= pushed;
    }
  }
  return toCome;

  /** From a reservation that the class may fill to one with room; each makes room for the one before it. */
  function findPath(start: number): readonly Step[] | null {
    const seen = new Set<number>();
    const open: (readonly Step[])[] = (classes[start]?.may ?? []).map((to) => [{ by: start, to }]);
    for (const path of open) {
      const { to } = path[path.length - 1] as Step;
      if (seen.has(to)) continue;
      seen.add(to);
      if ((spare[to] as number) > 0) return path;
      for (const [by, { may }] of classes.entries()) {
        if ((filled[by]?.[to] as number) === 0) continue;
        open.push(...may.filter((next) => !seen.has(next)).map((next) => [...path, { by, to: next }]));
      }
    }
    return null;
  }

  function limitOf(path: readonly Step[]): number {
    const { to } = path[path.length - 1] as Step;
    const moved = path.slice(1).map(({ by }, at) => filled[by]?.[(path[at] as Step).to] as number);
    return Math.min(spare[to] as number, ...moved);
  }

  function push(path: readonly Step[], slots: number): void {
    for (const [at, { by, to }] of path.entries()) {
      const row = filled[by] as number[];
      row[to] = (row[to] as number) + slots;
      const before = path[at - 1];
      if (before !== undefined) row[before.to] = (row[before.to] as number) - slots;
    }
    const { to } = path[path.length - 1] as Step;
    spare[to] = (spare[to] as number) - slots;
  }
}

/** Slots of class `by` fill reservation `to`. */
interface Step {
  readonly by: number;
  readonly to: number;
}

function listFillable(reservations: readonly Reserved[], key: string): readonly number[] {
  const groups = key.split(',');
  return reservations.flatMap((reservation, index) => (groups.includes(reservation.for) ? [index] : []));
}
