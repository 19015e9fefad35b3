import { lookup, lookupService } from 'node:dns/promises';
import { hostname } from 'node:os';

/** The names under which this server may be visited by a browser. */
export interface OwnNames {
  /** The name in lower case, without a dot at its end. */
  isOwn(name: string): Promise<boolean>;
}

interface OwnNamesOptions {
  /** The setting `http.allowedHosts`. */
  readonly allowedHosts: readonly string[];
  /** Whether the TLS certificate in force is for this name. */
  readonly isCertified: (name: string) => boolean;
  /** Milliseconds that never run back. */
  readonly readMonotonicMs: () => number;
  /** The machine, replaced in tests. */
  readonly machine?: Machine | undefined;
}

export interface Machine {
  readonly hostName: string;
  /** The full names of its addresses, as the system's resolver knows them. */
  findFullNames(): Promise<readonly string[]>;
}

/** For how long the full names are believed: a machine may change networks. */
const FULL_NAMES_MS = 60_000;

/**
 * A page on a foreign name that its owner rebinds to this server's address is "same origin" to the browser:
 * only the name gives it away. So browsers are served under names that are known to be this server's:
 * localhost, the machine's host name, its full name, those in its certificate, and those in the settings.
 * The full name takes the resolver, which may be slow: it is looked up only when a browser comes with a name
 * that could be it, and at most once a minute.
 */
export function createOwnNames(options: OwnNamesOptions): OwnNames {
  const { machine = THIS_MACHINE, isCertified, readMonotonicMs } = options;
  const hostName = normalizeName(machine.hostName);
  const shortName = hostName.split('.')[0] as string;
  const fixed = new Set(['localhost', hostName, shortName, ...options.allowedHosts.map(normalizeName)]);
  let lookedUp: { readonly atMs: number; readonly names: Promise<readonly string[]> } | null = null;

  function findFullNames(): Promise<readonly string[]> {
    const nowMs = readMonotonicMs();
    if (lookedUp === null || nowMs - lookedUp.atMs > FULL_NAMES_MS) {
      lookedUp = { atMs: nowMs, names: machine.findFullNames().catch(() => []) };
    }
    return lookedUp.names;
  }

  return {
    async isOwn(name) {
      if (fixed.has(name) || isCertified(name)) return true;
      return name.startsWith(`${shortName}.`) && (await findFullNames()).includes(name);
    },
  };
}

/** Names are compared without regard to case and to the dot that may end a full one. */
export function normalizeName(name: string): string {
  const lower = name.toLowerCase();
  return lower.endsWith('.') ? lower.slice(0, -1) : lower;
}

/** A machine has a few addresses; one with very many is not asked about all of them. */
const MAX_ADDRESSES = 8;

const THIS_MACHINE: Machine = {
  hostName: hostname(),
  async findFullNames() {
    const addresses = (await lookup(hostname(), { all: true })).slice(0, MAX_ADDRESSES);
    const found = await Promise.allSettled(addresses.map(({ address }) => lookupService(address, 0)));
    return found.flatMap((one) => (one.status === 'fulfilled' ? [normalizeName(one.value.hostname)] : []));
  },
};
