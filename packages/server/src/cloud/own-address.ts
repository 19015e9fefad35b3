import type { NetworkInterfaceInfo } from 'node:os';
import { ADDRESS_KINDS, isWithin, parseAddress, parseRange } from '@berth/protocol/address-range';

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/** Addresses that do not locate a machine. */
const NOWHERE = [...ADDRESS_KINDS.loopback, ...ADDRESS_KINDS.linkLocal].map(parseRange);

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

const PRIVATE = ADDRESS_KINDS.ofNetworks.map(parseRange);

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
