import type { NetworkInterfaceInfo } from 'node:os';
import { isWithin, parseAddress, parseRange } from '@berth/protocol/address-range';

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/** Addresses that say nothing about where a machine is: any, its own, and those of one cable. */
const NOWHERE = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '::/127', 'fe80::/10'].map(parseRange);

/**
 * The address that the vendor is told on activation: the one that the server listens at, or else the first of
 * the machine that others can reach, of IPv4 if there is one. `null`: it has none.
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
