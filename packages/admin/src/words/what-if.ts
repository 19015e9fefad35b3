import type { Denials, WhatIf } from '@berth/protocol/admin/history';
import { sayWait } from './line.ts';
import { formatNumber } from './numbers.ts';
import { formatDuration, plural, SECOND_MS } from './time.ts';

export type WhatIfColumn = WhatIf['curve'][number];

/** So many numbers of slots fit side by side. */
const MAX_COLUMNS = 10;
/** How many of them have fewer slots than today, at least. */
const MIN_BELOW = 2;

/** Around today's number, always with it and with the number without denials. */
export function chooseColumns({ curve, slots, enough }: WhatIf): readonly WhatIfColumn[] {
  const [low, high] = [Math.min(slots, enough), Math.max(slots, enough)];
  const below = curve.filter((column) => column.slots < low);
  const between = curve.filter((column) => column.slots >= low && column.slots <= high);
  const inside = thinOut(between, MAX_COLUMNS - Math.min(below.length, MIN_BELOW));
  const room = MAX_COLUMNS - inside.length;
  return [...(room === 0 ? [] : below.slice(-room)), ...inside];
}

/** At most so many, evenly, with the first and the last. */
function thinOut<T>(list: readonly T[], most: number): readonly T[] {
  if (list.length <= most) return list;
  const pick = (index: number) => list[Math.round((index * (list.length - 1)) / (most - 1))] as T;
  return Array.from({ length: most }, (_, index) => pick(index));
}

/** What the curve says of today's number of slots. */
export function findToday({ curve, slots }: WhatIf): WhatIfColumn | undefined {
  return curve.find((column) => column.slots === slots);
}

/** A wait in line, such as 40 s or 12 min. */
export function sayWaited(ms: number | null): string {
  return ms === null ? '–' : sayWait(Math.round(ms / SECOND_MS));
}

/** How long users really waited in line, and what became of them. */
export function sayLineFigure({ served, unserved, ...lengths }: WhatIf['waits']): readonly [string, string] {
  const gaveUp = unserved === 0 ? '' : `, ${formatNumber(unserved)} gave up`;
  if (served === 0) {
    return [sayWaited(lengths.unserved_median_ms), `by ${formatNumber(unserved)}, who all gave up`];
  }
  return [sayWaited(lengths.median_ms), `by ${formatNumber(served)} who got a slot${gaveUp}`];
}

/** How many slots do we need? `span` is such as "a month". */
export function sayNeed(name: string, { enough, slots }: WhatIf, span: string): string {
  if (enough === 0) return `${name} lent no slots`;
  if (enough > slots) return `${name} needs ${formatNumber(enough)} slots for ${span} without denials`;
  if (enough < slots) return `${name} has enough slots: ${formatNumber(enough)} would do for ${span}`;
  return `${name} has just enough slots for ${span}`;
}

/** What happened with the slots there are. */
export function sayFound({ asked, slots }: WhatIf, denials: Denials | null): string {
  const has = `It has ${plural(slots, 'slot')}`;
  if (asked > 0) {
    const all = slots === 1 ? 'it' : 'all of them';
    return `${has}, and ${plural(asked, 'time')} somebody found ${all} in use, not counting retries.`;
  }
  const why = (denials?.total ?? 0) === 0 ? '' : ' for want of a slot';
  return `${has}, and nobody was refused${why}.`;
}

/** What enough slots would have changed, and what that assumes. */
export function sayWhatIf(whatIf: WhatIf): string {
  const { asked, enough, slots, median_ms: median } = whatIf;
  const today = findToday(whatIf);
  const found: string[] = [];
  if (today !== undefined && today.denials !== asked) {
    const denied = plural(today.denials, 'request');
    found.push(
      `The slots have changed: with today's ${formatNumber(slots)}, ${denied} would have been refused.`,
    );
  }
  if (today !== undefined && enough > slots) {
    const instead = `no denials instead of ${formatNumber(today.denials)}`;
    const waiting = formatDuration(today.waiting_ms);
    found.push(`With ${formatNumber(enough)}: ${instead}, and no waiting instead of ${waiting} in all.`);
  }
  const { served } = whatIf.waits;
  if (served > 0) {
    const users = plural(served, 'user');
    found.push(`${users} waited in line and got a slot, which counts as served.`);
  }
  const held =
    median === null
      ? 'a minute, because no slot was given back yet'
      : `${formatDuration(median)}, as half of the slots were`;
  found.push(
    `Replayed from what was recorded: a refused request would have held a slot for ${held}; ` +
      'retries within that time count once, and waiting ends with the last of them.',
  );
  return found.join(' ');
}
