/** An IP address as a number. One of IPv4 that is written as IPv6 (::ffff:…) is the IPv4 address. */
export interface Address {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

/** All addresses whose first bits are the same. */
export interface AddressRange {
  readonly first: Address;
  readonly prefix: number;
}

/** Ranges of addresses that are not on the internet. */
export const ADDRESS_KINDS = {
  /** This machine, and no address at all, which is this machine, too. */
  loopback: ['0.0.0.0/8', '127.0.0.0/8', '::/127'],
  linkLocal: ['169.254.0.0/16', 'fe80::/10'],
  /** Of private networks and of carriers. */
  ofNetworks: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'],
} as const;

/** No address is longer, and no range. */
const MAX_LENGTH = '0000:0000:0000:0000:0000:0000:255.255.255.255/128'.length;

/** `null` for everything that is not one address: names, ports, brackets, zones, and zeros in front. */
export function parseAddress(text: string): Address | null {
  if (text.length > MAX_LENGTH) return null;
  if (!text.includes(':')) return parseIPv4(text);
  const value = parseIPv6(text);
  if (value === null) return null;
  return value >> 32n === MAPPED ? { bits: 32, value: value & LAST_32_BITS } : { bits: 128, value };
}

/** The prefix of an IPv4-mapped IPv6 address. */
const MAPPED = 0xffffn;
const LAST_32_BITS = 0xffffffffn;

/** An address, or an address and how many of its first bits count: 10.0.0.0/8, 2001:db8::/32. */
export function parseRange(text: string): AddressRange | null {
  const slash = text.indexOf('/');
  const address = parseAddress(slash === -1 ? text : text.slice(0, slash));
  if (address === null) return null;
  const prefix = slash === -1 ? address.bits : parsePrefix(text, slash, address);
  if (prefix === null || prefix < 0 || prefix > address.bits) return null;
  return startRange(address, prefix);
}

/** The range of this length that the address is in. */
function startRange({ bits, value }: Address, prefix: number): AddressRange {
  const shift = BigInt(bits - prefix);
  return { first: { bits, value: (value >> shift) << shift }, prefix };
}

/** Behind ::ffff: the first 96 bits are those of the notation. */
function parsePrefix(text: string, slash: number, address: Address): number | null {
  const digits = text.slice(slash + 1);
  if (!/^(0|[1-9]\d{0,2})$/.test(digits)) return null;
  const isMapped = address.bits === 32 && text.includes(':');
  return isMapped ? Number(digits) - 96 : Number(digits);
}

/** An IPv4 address is in no range of IPv6, not even in ::/0. */
export function isWithin(address: Address, { first, prefix }: AddressRange): boolean {
  const shift = BigInt(first.bits - prefix);
  return address.bits === first.bits && address.value >> shift === first.value >> shift;
}

/** The canonical text of an address. */
export function formatAddress({ bits, value }: Address): string {
  if (bits === 32) return split(value, 8, 4).join('.');
  const groups = split(value, 16, 8).map((group) => group.toString(16));
  const zeros = findLongestZeros(groups);
  if (zeros === null) return groups.join(':');
  return `${groups.slice(0, zeros.from).join(':')}::${groups.slice(zeros.to).join(':')}`;
}

function split(value: bigint, size: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) =>
    Number(BigInt.asUintN(size, value >> BigInt(size * (count - 1 - index)))),
  );
}

/** The first of the longest runs; a single zero is written out. */
function findLongestZeros(groups: readonly string[]): { from: number; to: number } | null {
  let longest = { from: 0, to: 1 };
  for (let from = 0; from < groups.length; from++) {
    let to = from;
    while (groups[to] === '0') to++;
    if (to - from > longest.to - longest.from) longest = { from, to };
  }
  return longest.to - longest.from > 1 ? longest : null;
}

/**
 * An address as a text that sorts as addresses do, so that a store finds all of a range between two texts.
 */
export function addressKey({ bits, value }: Address): string {
  return bits === 32 ? `4${value.toString(16).padStart(8, '0')}` : `6${value.toString(16).padStart(32, '0')}`;
}

export function addressFromKey(key: string): Address {
  return { bits: key.startsWith('4') ? 32 : 128, value: BigInt(`0x${key.slice(1)}`) };
}

/** The keys of the first and the last address of a range. */
export function rangeKeys({ first, prefix }: AddressRange): {
  readonly first: string;
  readonly last: string;
} {
  const rest = (1n << BigInt(first.bits - prefix)) - 1n;
  return { first: addressKey(first), last: addressKey({ ...first, value: first.value | rest }) };
}

const DECIMAL_BYTE = /^(0|[1-9]\d?|1\d\d|2[0-4]\d|25[0-5])$/;

function parseIPv4(text: string): Address | null {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => DECIMAL_BYTE.test(part))) return null;
  return { bits: 32, value: join(parts.map(Number), 8) };
}

function parseIPv6(text: string): bigint | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const [front, back] = halves.map((half, index) => parseGroups(half, index === halves.length - 1));
  if (front === undefined || front === null || back === null) return null;
  const missing = 8 - front.length - (back?.length ?? 0);
  // Two colons stand for one group at least; without them none may be missing.
  if (back === undefined ? missing !== 0 : missing < 1) return null;
  return join([...front, ...Array<number>(missing).fill(0), ...(back ?? [])], 16);
}

/** The last two groups may be written as an IPv4 address. */
function parseGroups(text: string, isLast: boolean): readonly number[] | null {
  if (text === '') return [];
  const words = text.split(':');
  const tail = isLast && words.at(-1)?.includes('.') === true ? parseIPv4(words.pop() as string) : undefined;
  if (tail === null || !words.every((word) => /^[\da-f]{1,4}$/i.test(word))) return null;
  const groups = words.map((word) => Number.parseInt(word, 16));
  return tail === undefined ? groups : [...groups, ...split(tail.value, 16, 2)];
}

function join(parts: readonly number[], size: number): bigint {
  return parts.reduce((value, part) => (value << BigInt(size)) | BigInt(part), 0n);
}

/** A household has at least this much of IPv6, and may use a new address for every request. */
const HOUSEHOLD_BITS = 64;

/** The unit of client limits: an IPv4 address, or an IPv6 network. */
export function placeOf(address: string): string {
  if (!address.includes(':')) return address;
  const place = placeRange(address);
  return place === null || place.first.bits === 32 ? address : formatAddress(place.first);
}

/** All addresses of the same place. */
export function placeRange(address: string): AddressRange | null {
  const parsed = parseAddress(address);
  return parsed === null ? null : startRange(parsed, Math.min(parsed.bits, HOUSEHOLD_BITS));
}

/** Networks that often have one owner, from the widest to one place. */
const NETWORK_PREFIXES = { 32: [16, 24, 32], 128: [32, 48, 64] } as const;

/** The networks that an address is in, the widest first; the last is its place. */
export function networksOf(address: string): readonly string[] {
  const parsed = parseAddress(address);
  if (parsed === null) return [address];
  const { bits, value } = parsed;
  return NETWORK_PREFIXES[bits].map((prefix) => {
    const shift = BigInt(bits - prefix);
    return `${formatAddress({ bits, value: (value >> shift) << shift })}/${prefix}`;
  });
}
