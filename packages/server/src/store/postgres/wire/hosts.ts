import { Fault } from '../../../core/nouns/fault.ts';
import type { Connection, Lineage } from './connection.ts';
import { type OpeningOptions, openConnection } from './database.ts';
import { isConnectionLost, toFault } from './database-error.ts';
import { type DatabaseTarget, describeHost, describeTarget } from './database-url.ts';

/** A host that can be written. */
interface Primary {
  readonly target: DatabaseTarget;
  readonly lineage: Lineage | null;
}

interface HostError {
  readonly target: DatabaseTarget;
  readonly fault: Fault;
}

/** Once there is a primary, so long the other hosts have to say that they are newer. */
const GRACE_MS = 1000;

/**
 * The hosts of one database, one of which is the primary. All connections of a store go to the host in use.
 * When one is lost, all hosts are asked, and of those that can be written the one with the newest timeline is
 * used from then on; connections to the others are closed.
 *
 * A promoted standby begins a new timeline. So a server that has seen it never goes back to the old primary,
 * and one that starts, or looks around, prefers it. A server that cannot reach the new primary cannot know.
 */
export class Hosts {
  /** Another host or timeline is used from now on. Called before any of its connections is handed out. */
  onMoved: () => void = () => {};
  /** Besides the host in use, this one can be written. Called once the host in use is chosen. */
  onSecond: ((host: string) => void) | null = null;
  readonly #targets: readonly [DatabaseTarget, ...DatabaseTarget[]];
  readonly #open: typeof openConnection;
  readonly #connections = new Set<Connection>();
  /** The one that was used last; null before the first. */
  #inUse: Primary | null = null;
  /** Whether the host in use was found to be the primary, and none of its connections was lost since. */
  #isSure = false;
  #looking: Promise<void> | null = null;
  #second: string | null = null;

  constructor(targets: readonly [DatabaseTarget, ...DatabaseTarget[]], open = openConnection) {
    this.#targets = targets;
    this.#open = open;
  }

  /** The host in use, for people. */
  get host(): string {
    return describeHost(this.#target);
  }

  /** The same with the user and the database. */
  get url(): string {
    return describeTarget(this.#target);
  }

  get #target(): DatabaseTarget {
    return this.#inUse?.target ?? this.#targets[0];
  }

  get #lineage(): Lineage | null {
    return this.#inUse?.lineage ?? null;
  }

  /** The target in the options does not matter. */
  async open(options: OpeningOptions): Promise<Connection> {
    this.#dropLost();
    if (this.#targets.length === 1) return this.#connect(options);
    if (this.#isSure) {
      // If it fails, the host is no longer sure.
      const connection = await this.#connect(options).catch(() => null);
      if (connection !== null) return connection;
    }
    await this.#look(options);
    return this.#connect(options);
  }

  /**
   * Moves to a newer primary, if there is one; behind a pooler or a virtual address it has the same name. If
   * that fails, whoever needs a connection tries again.
   */
  async lookAround(options: OpeningOptions): Promise<void> {
    await this.#look(options).catch(() => {});
  }

  #dropLost(): void {
    for (const connection of this.#connections) {
      if (!connection.isDead) continue;
      this.#connections.delete(connection);
      this.#isSure = false;
    }
  }

  async #connect(options: OpeningOptions): Promise<Connection> {
    const target = this.#target;
    try {
      const connection = await this.#openAt(target, options);
      this.#use({ target, lineage: connection.lineage });
      this.#connections.add(connection);
      return connection;
    } catch (error) {
      this.#isSure = false;
      throw error;
    }
  }

  async #openAt(target: DatabaseTarget, options: OpeningOptions): Promise<Connection> {
    const connection = await this.#open({ ...options, target });
    if (compareAge(connection.lineage, this.#lineage) >= 0) return connection;
    await connection.close();
    throw outdated(describeTarget(target));
  }

  /** Callers that look at the same time share what is found. */
  #look(options: OpeningOptions): Promise<void> {
    this.#looking ??= this.#find(options)
      .then(({ best, writable }) => {
        // While the host in use works, only a newer one is worth a move. It may have been slow to answer.
        if (!this.#isSure || compareAge(best.lineage, this.#lineage) > 0) this.#use(best);
        this.#isSure = true;
        this.#noteSecond(writable.find((target) => target !== this.#target));
      })
      .finally(() => {
        this.#looking = null;
      });
    return this.#looking;
  }

  /** The best of the hosts that can be written, and all of them. */
  async #find(options: OpeningOptions): Promise<{ best: Primary; writable: readonly DatabaseTarget[] }> {
    const errors: HostError[] = [];
    const found = new Map<DatabaseTarget, Primary>();
    const older: DatabaseTarget[] = [];
    let grace: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      const probes = this.#targets.map(async (target) => {
        try {
          const connection = await this.#open({ ...options, target });
          const { lineage } = connection;
          await connection.close();
          if (isForeign(lineage, this.#lineage)) throw foreign(describeTarget(target));
          if (compareAge(lineage, this.#lineage) < 0) {
            older.push(target);
            throw outdated(describeTarget(target));
          }
          found.set(target, { target, lineage });
          // The others may not answer at all, and then need not be waited for.
          if (compareAge(lineage, this.#lineage) > 0) resolve();
          else grace ??= setTimeout(resolve, GRACE_MS);
        } catch (error) {
          errors.push({ target, fault: toFault(error) });
        }
      });
      void Promise.all(probes).then(() => resolve());
    });
    clearTimeout(grace);
    const primaries = this.#targets.flatMap((target) => found.get(target) ?? []);
    const best = this.#choose(primaries, errors);
    return { best, writable: [...primaries.map(({ target }) => target), ...older] };
  }

  #choose(found: readonly Primary[], errors: readonly HostError[]): Primary {
    const first = found.find(({ target }) => target === this.#target) ?? found[0];
    if (first === undefined) throw noneFits(errors);
    const { system } = this.#lineage ?? first.lineage ?? {};
    const rank = ({ lineage }: Primary) => (lineage?.system === system ? (lineage?.timeline ?? 0) : -1);
    return found.reduce((newest, one) => (rank(one) > rank(newest) ? one : newest), first);
  }

  /** Says it once. */
  #noteSecond(second: DatabaseTarget | undefined): void {
    if (this.onSecond === null) return;
    const host = second === undefined ? null : describeHost(second);
    if (host !== null && host !== this.#second) this.onSecond(host);
    this.#second = host;
  }

  #use({ target, lineage }: Primary): void {
    const before = this.#inUse;
    const now = { target, lineage: lineage ?? this.#lineage };
    this.#inUse = now;
    if (before === null || isSame(before, now)) return;
    for (const connection of this.#connections) void connection.close();
    this.#connections.clear();
    this.onMoved();
  }
}

function isSame(before: Primary, now: Primary): boolean {
  if (before.target !== now.target) return false;
  const { system, timeline } = before.lineage ?? now.lineage ?? {};
  return system === now.lineage?.system && timeline === now.lineage?.timeline;
}

/** Negative if `lineage` is older than `than`; 0 if they are the same or cannot be compared. */
function compareAge(lineage: Lineage | null, than: Lineage | null): number {
  return lineage === null || lineage.system !== than?.system ? 0 : lineage.timeline - than.timeline;
}

function isForeign(lineage: Lineage | null, known: Lineage | null): boolean {
  return lineage !== null && known !== null && lineage.system !== known.system;
}

function foreign(where: string): Fault {
  return new Fault(
    'store_unavailable',
    `The database at ${where} is no copy of the one that this server has used. ` +
      'If it replaces it, restart this server.',
  );
}

function outdated(where: string): Fault {
  return new Fault(
    'store_unavailable',
    `The database at ${where} is an old primary: its standby was promoted, and this server has used that. ` +
      'Stop the old primary and make it a standby. To use it all the same, restart this server.',
  );
}

function noneFits(errors: readonly HostError[]): Fault {
  const reasons = errors.map(({ target, fault }) => `${describeHost(target)}: ${fault.message}`);
  const lost = errors.find(({ fault }) => isConnectionLost(fault));
  return new Fault('store_unavailable', `No host in the database URL can be used. ${reasons.join(' ')}`, {
    cause: lost?.fault.cause,
  });
}
