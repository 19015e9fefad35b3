import { parseRange, rangeKeys } from '@berth/protocol/address-range';
import type { BAR_KINDS } from '@berth/protocol/admin/choices';
import { parsePattern } from './name-pattern.ts';

/** Bars one user, host or address, or all that match a pattern. */
export interface Bar {
  readonly kind: BarKind;
  /** As in the rules file. */
  readonly pattern: string;
  /** The administrator's reason; `null`: none was given. */
  readonly note: string | null;
}

export type BarKind = (typeof BAR_KINDS)[number];

/** Where a bar comes from: the rules file, or a command. */
export type BarSource = 'rules_file' | 'bar';

/** As many as a list in the rules file may have: each pattern with a star is tried for each request. */
export const MAX_BARS = 10_000;

/** The bar that means the same, however it is written. */
export function findSameBar(bars: readonly Bar[], wanted: Pick<Bar, 'kind' | 'pattern'>): Bar | undefined {
  const meaning = meaningOf(wanted);
  return bars.find((bar) => bar.kind === wanted.kind && meaningOf(bar) === meaning);
}

function meaningOf({ kind, pattern }: Pick<Bar, 'kind' | 'pattern'>): string {
  if (kind !== 'address') return JSON.stringify(parsePattern(pattern.trim()));
  const range = parseRange(pattern);
  return range === null ? pattern : JSON.stringify(rangeKeys(range));
}
