import { type Address, type AddressRange, parseAddress } from '@berth/protocol/address-range';

/** Ranges of one length, by their first bits. */
interface RangesOfLength {
  readonly bits: number;
  readonly shift: bigint;
  readonly heads: Set<bigint>;
}

/** Many ranges of few lengths: an address is looked up once per length. */
export type RangeIndex = readonly RangesOfLength[];

export function indexRanges(ranges: readonly AddressRange[]): RangeIndex {
  const lengths = new Map<string, RangesOfLength>();
  for (const { first, prefix } of ranges) {
    const key = `${first.bits}/${prefix}`;
    const shift = BigInt(first.bits - prefix);
    const same = lengths.get(key) ?? { bits: first.bits, shift, heads: new Set() };
    lengths.set(key, same);
    same.heads.add(first.value >> shift);
  }
  return [...lengths.values()];
}

/** Returns whether the text is an address in one of the ranges. */
export function isIndexed(text: string, index: RangeIndex): boolean {
  if (index.length === 0) return false;
  // A link-local address may name the interface after a percent sign.
  const address = parseAddress(text.trim().split('%', 1)[0] as string);
  return address !== null && index.some((ranges) => isAmong(ranges, address));
}

function isAmong({ bits, shift, heads }: RangesOfLength, address: Address): boolean {
  return address.bits === bits && heads.has(address.value >> shift);
}
