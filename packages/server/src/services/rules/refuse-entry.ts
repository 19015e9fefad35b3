import { parseRange } from '@berth/protocol/address-range';
import type { BarKind } from '../../core/nouns/bar.ts';

/** The maximum length of the names it is compared with. */
const MAX_ENTRY_LENGTH = 256;

/** What is wrong with an entry of a list or with a bar; `null`: nothing. */
export function refuseEntry(kind: BarKind, entry: string): string | null {
  return kind === 'address' ? refuseAddress(entry) : refuseName(entry);
}

export function refuseName(entry: string): string | null {
  if (entry.trim() === '') return 'is empty';
  if (entry.length > MAX_ENTRY_LENGTH) return `is longer than ${MAX_ENTRY_LENGTH} characters`;
  return /\p{Cc}/u.test(entry) ? 'contains a control character' : null;
}

function refuseAddress(entry: string): string | null {
  if (parseRange(entry) !== null) return null;
  return `is "${entry.slice(0, MAX_ENTRY_LENGTH)}", which is not an address or a range such as 10.0.0.0/8`;
}
