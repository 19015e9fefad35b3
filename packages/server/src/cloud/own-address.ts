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

/** Addresses of private networks and of carriers. */
const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'].map(
  parseRange,
);

const ANYWHERE = new Set(['0.0.0.0', '::']);

/** Whether the internet can reach a server that listens on this host, if no firewall keeps it out. */
export function isPublicAddress(listenHost: string, interfaces: Interfaces): boolean {
  const own = Object.values(interfaces).flatMap((addresses) => addresses ?? []);
  const all = ANYWHERE.has(listenHost) ? own.map(({ address }) => address) : [listenHost];
  return all.some((text) => isSomewhere(text) && !isPrivate(text));
}

function isPrivate(text: string): boolean {
  const address = parseAddress(text);
  return address !== null && PRIVATE.some((range) => range !== null && isWithin(address, range));
}
