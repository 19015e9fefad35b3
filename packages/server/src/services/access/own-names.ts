import { lookup, lookupService } from 'node:dns/promises';
import { hostname } from 'node:os';

/** The host names under which browsers may use this server. */
export interface OwnNames {
  /** `name` is in lower case, without a trailing dot. */
  isOwn(name: string): Promise<boolean>;
}

interface OwnNamesOptions {
  /** The setting `http.allowedHosts`. */
  readonly allowedHosts: readonly string[];
  /** Whether the current TLS certificate is for this name. */
  readonly isCertified: (name: string) => boolean;
  /** A monotonic clock in milliseconds. */
  readonly readMonotonicMs: () => number;
  /** The machine, replaced in tests. */
  readonly machine?: Machine | undefined;
}

export interface Machine {
  readonly hostName: string;
  /** The full names of its addresses from the system's resolver. */
  findFullNames(): Promise<readonly string[]>;
}

/** How long the full names are cached: a machine may change networks. */
const FULL_NAMES_MS = 60_000;

/**
 * Protects against DNS rebinding: a page on a foreign name that points to this server's address is "same
 * origin" to the browser, so only the name reveals it. Browsers are served under known names only:
 * localhost, the machine's host name, its full name, those in its certificate, and those in the settings.
 * The full name needs the resolver, which may be slow: it is looked up only for a name that could match,
 * and at most once a minute.
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

/** Names are compared without case and without the trailing dot of a full name. */
export function normalizeName(name: string): string {
  const lower = name.toLowerCase();
  return lower.endsWith('.') ? lower.slice(0, -1) : lower;
}

/** A machine has few addresses; if it has very many, only some are looked up. */
const MAX_ADDRESSES = 8;

const THIS_MACHINE: Machine = {
  hostName: hostname(),
  async findFullNames() {
    const addresses = (await lookup(hostname(), { all: true })).slice(0, MAX_ADDRESSES);
    const found = await Promise.allSettled(addresses.map(({ address }) => lookupService(address, 0)));
    return found.flatMap((one) => (one.status === 'fulfilled' ? [normalizeName(one.value.hostname)] : []));
  },
};
