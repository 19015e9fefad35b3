import type { NetworkInterfaceInfo } from 'node:os';
import { isWithin, parseAddress, parseRange } from '@berth/protocol/address-range';

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/** Addresses that do not locate a machine: unspecified, loopback and link-local. */
const NOWHERE = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '::/127', 'fe80::/10'].map(parseRange);

/**
 * The address sent to the vendor on activation: the one the server listens on, or else the machine's first
 * reachable address, preferably IPv4. `null` if it has none.
 */
export function findOwnAddress(listenHost: string, interfaces: Interfaces): string | null {
  const own = Object.values(interfaces).flatMap((addresses) => addresses ?? []);
  const inOrder = [
    ...own.filter(({ family }) => family === 'IPv4'),
    ...own.filter(({ family }) => family === 'IPv6'),
  ].map(({ address }) => address);
  return [listenHost, ...inOrder].find(isSomewhere) ?? null;
}

function isSomewhere(text: string): boolean {
  const address = parseAddress(text);
  return address !== null && !NOWHERE.some((range) => range !== null && isWithin(address, range));
}
