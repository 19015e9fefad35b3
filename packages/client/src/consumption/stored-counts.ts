import { isOfAddresses } from '../address.ts';
import type { Account } from '../lending/account.ts';
import { isStoredByNewer, nameOf, STORED_VERSION } from '../storage-name.ts';
import type { Count } from './count.ts';

/** A count that waits in the queue. */
export interface QueuedCount extends Count {
  /** When it was first sent without an answer, by the wall clock; `null` if it never was. */
  readonly triedAtMs: number | null;
}

/** A count that waits for another server. */
export interface StrayCount extends QueuedCount {
  /** The server: the public id of its store, or what stands for its addresses. */
  readonly store: string;
}

const KEY_LENGTH = 48;

/**
 * The counts of a product in the storage. Their names say which server they are for: the public id of its
 * store, or, if it has none or has not answered yet, the addresses that the application has.
 */
export class StoredCounts {
  readonly #account: Account;
  readonly #prefix: string;
  /** `undefined`: no server has answered yet. */
  #store: string | null | undefined;
  #added = 0;

  constructor(account: Account) {
    this.#account = account;
    this.#prefix = nameOf('count', account.product);
  }

  /** As for `Servers.post`. */
  get store(): string | null | undefined {
    return this.#store;
  }

  /**
   * Finds out which server this is, once. From now on, counts that were never sent belong to it, also those
   * that another program adds meanwhile. A count that is stored twice after a crash has the same name and
   * key, and counts once.
   */
  async bind(): Promise<void> {
    if (this.#store === undefined) this.#store = await this.#account.servers.findStore();
    if (this.#store === null) return;
    const [from, to] = [this.#prefixOf(null), this.#prefixOf(this.#store)];
    for (const name of await this.#account.storage.list(from)) {
      const count = await this.read(name);
      if (count === null || count.triedAtMs !== null) continue;
      const taken = to + name.slice(from.length);
      if (readCount(await this.#account.storage.read(taken)) === null) await this.write(taken, count);
      await this.remove(name);
    }
  }

  add(count: QueuedCount): Promise<void> {
    return this.write(this.#prefixOf(this.#store ?? null) + this.#nextSuffix(count.key), count);
  }

  async listOwn(): Promise<readonly string[]> {
    return (await this.#account.storage.list(this.#prefix)).filter((name) => this.#isOwn(name)).sort(byTime);
  }

  async readAll(names: readonly string[]): Promise<readonly QueuedCount[]> {
    const counts = await Promise.all(names.map((name) => this.read(name)));
    return counts.filter((count) => count !== null);
  }

  async readOthers(): Promise<readonly StrayCount[]> {
    const found: StrayCount[] = [];
    for (const name of await this.#account.storage.list(this.#prefix)) {
      const count = this.#isOwn(name) ? null : await this.read(name);
      if (count !== null) found.push({ ...count, store: this.#bindingOf(name) });
    }
    return found;
  }

  /** `null` if another program has sent it meanwhile, if it is damaged, or for a newer client to send. */
  async read(name: string): Promise<QueuedCount | null> {
    const found = readCount(await this.#account.storage.read(name));
    return found === 'newer' ? null : found;
  }

  async write(name: string, count: QueuedCount): Promise<void> {
    await this.#account.storage.write(name, JSON.stringify({ ...count, version: STORED_VERSION }));
  }

  remove(name: string): Promise<void> {
    return this.#account.storage.remove(name);
  }

  /** If it was not counted, it gets a new key, and stays with its server. */
  async settle(key: string, wasCounted: boolean): Promise<void> {
    const { storage, environment } = this.#account;
    for (const name of await storage.list(this.#prefix)) {
      const count = await this.read(name);
      if (count?.key !== key) continue;
      const again = { ...count, key: environment.createId(), triedAtMs: null };
      const start = `${this.#prefix}${this.#bindingOf(name)}@`;
      if (!wasCounted) await this.write(start + this.#nextSuffix(again.key), again);
      await this.remove(name);
    }
  }

  #isOwn(name: string): boolean {
    const { servers } = this.#account;
    const binding = this.#bindingOf(name);
    if (this.#store !== undefined) return binding === servers.bindingOf(this.#store);
    return binding === servers.bindingOf(null) || !isOfAddresses(binding);
  }

  #bindingOf(name: string): string {
    return name.slice(this.#prefix.length, name.lastIndexOf('@'));
  }

  #prefixOf(store: string | null): string {
    return `${this.#prefix}${this.#account.servers.bindingOf(store)}@`;
  }

  /** Sorted by time, and by the order of the calls within a millisecond. */
  #nextSuffix(key: string): string {
    this.#added += 1;
    const at = String(Math.trunc(this.#account.environment.readWallMs())).padStart(15, '0');
    const order = String(this.#added % 1e6).padStart(6, '0');
    return `${at}-${order}-${key.replace(/[^\w-]/g, '_').slice(0, KEY_LENGTH)}`;
  }
}

/** Sorts the counts of all servers together. */
function byTime(a: string, b: string): number {
  const [x, y] = [a.slice(a.lastIndexOf('@')), b.slice(b.lastIndexOf('@'))];
  return x < y ? -1 : x > y ? 1 : 0;
}

/** `null` if there is none, or if it is damaged. */
function readCount(text: string | null): QueuedCount | 'newer' | null {
  try {
    const { version, key, path, body, triedAtMs } = JSON.parse(text ?? 'null');
    if (isStoredByNewer(version)) return 'newer';
    const isWhole =
      version === STORED_VERSION &&
      typeof key === 'string' &&
      (path === 'add_consumption' || path === 'add_feature_consumption') &&
      typeof body === 'object' &&
      body !== null &&
      !Array.isArray(body) &&
      (triedAtMs === null || typeof triedAtMs === 'number');
    return isWhole ? { key, path, body, triedAtMs } : null;
  } catch {
    return null;
  }
}
