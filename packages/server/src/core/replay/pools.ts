import type { RecordedEvent } from '../nouns/audit-event.ts';
import type { Instant } from '../nouns/instant.ts';
import type { RuleSet } from '../rules/rule-set.ts';
import { slotRulesOf } from './judge.ts';
import {
  countFree,
  dropAllFeatures,
  isUsable,
  Pool,
  type PooledLicense,
  type Session,
  takeOff,
} from './pool.ts';
import { sumCounts } from './slot-counts.ts';
import { type StartLicense, unknownLicense } from './start-license.ts';
import type { RefusingRule } from './tally.ts';
import { Unused } from './unused.ts';

type LicenseChange = Extract<
  RecordedEvent,
  { kind: 'license_added' | 'license_changed' | 'license_removed' }
>;

interface ReservedPool {
  readonly pool: Pool;
  readonly unused: Unused;
}

/** All licenses during a replay, and who holds slots of them. */
export class Pools {
  readonly #rules: RuleSet;
  readonly #since: Instant;
  readonly #pools = new Map<string, Pool>();
  /** Those of which something is reserved. */
  readonly #reserved: ReservedPool[] = [];
  readonly #licenses = new Map<number, PooledLicense>();
  /** By the license of the log, and by user. */
  readonly #sessions = new Map<number, Map<string, Session>>();
  /** Slots that only the rules lend, by product and by user. */
  readonly #virtual = new Map<string, Map<string, Session>>();

  constructor(rules: RuleSet, licenses: readonly StartLicense[], since: Instant) {
    this.#rules = rules;
    this.#since = since;
    for (const facts of licenses) this.#add(facts);
  }

  find(chain: number): PooledLicense | null {
    return this.#licenses.get(chain) ?? null;
  }

  of({ facts }: PooledLicense): Pool {
    return this.#poolOf(facts.product);
  }

  /** What the log shows to have been lent can be used, whatever is known of the license today. */
  trust(license: PooledLicense, now: Instant): void {
    const { id, isUnsure } = license.facts;
    if (isUnsure) license.slots = Math.max(license.slots, (this.#sessions.get(id)?.size ?? 0) + 1);
    if (isUsable(license, now)) return;
    const facts = { ...license.facts, startsAt: null, endsAt: null };
    Object.assign(license, { facts, isHeld: true, enabled: true, active: true });
  }

  /** Until now, nothing has changed. `isLast`: there is nothing after it. */
  passTime(now: Instant, isLast = false): void {
    for (const { pool, unused } of this.#reserved) {
      if (!isLast && !unused.isDue(now)) continue;
      const usable = pool.listUsable(now);
      const free = usable.reduce((sum, license) => sum + countFree(license), 0);
      if (usable.length === 0) unused.skip(now);
      else unused.pass(now, sumCounts(usable.map(({ counts }) => counts)).byGroups, free);
    }
  }

  /** Rules that have refused, and all reservations. */
  withUnused(rules: readonly RefusingRule[], until: Instant) {
    this.passTime(until, true);
    const reserved = this.#reserved.flatMap(({ pool, unused }) =>
      unused.list().map((one) => ({ product: pool.product, feature: null, ...one })),
    );
    const isSame = (a: { product: string; line: number | null; text: string }, b: RefusingRule) =>
      a.product === b.product && a.line === b.line && b.feature === null && b.text === a.text;
    return [
      ...rules.map((rule) => ({
        ...rule,
        unusedShare: reserved.find((one) => isSame(one, rule))?.unusedShare ?? null,
      })),
      ...reserved
        .filter((one) => !rules.some((rule) => isSame(one, rule)))
        .map((one) => ({ ...one, wouldRefuse: 0 })),
    ];
  }

  session(chain: number, user: string): Session | null {
    return this.#sessions.get(chain)?.get(user) ?? this.findVirtual(chain, user);
  }

  findElsewhere(pool: Pool, chain: number, user: string): Session | null {
    return this.#listLogged(pool, user).find(({ id }) => id !== chain)?.session ?? null;
  }

  /** A slot that the user holds, of this license or, if it is `null`, of any. */
  findHeld(pool: Pool, user: string, on: PooledLicense | null): Session | null {
    const virtual = this.#virtual.get(pool.product)?.get(user) ?? [];
    const held = this.#listLogged(pool, user).map(({ session }) => session);
    return held.concat(virtual).find((session) => on === null || session.on === on) ?? null;
  }

  /** What a user holds in the log, by license of the log. */
  #listLogged(pool: Pool, user: string) {
    return [...pool.licenses.keys()].flatMap((id) => {
      const session = this.#sessions.get(id)?.get(user);
      return session === undefined ? [] : [{ id, session }];
    });
  }

  addSession(chain: number, session: Session): void {
    this.remove(chain, session.user);
    placeIn(this.#sessions, chain, session);
  }

  addVirtual(session: Session): void {
    placeIn(this.#virtual, session.on.facts.product, session);
  }

  findVirtual(chain: number, user: string): Session | null {
    const product = this.#licenses.get(chain)?.facts.product ?? '';
    return this.#virtual.get(product)?.get(user) ?? null;
  }

  /** A slot that only the rules have lent is one of the log from now on. */
  adopt(chain: number, session: Session): void {
    this.#virtual.get(session.on.facts.product)?.delete(session.user);
    placeIn(this.#sessions, chain, session);
  }

  endVirtual(session: Session): void {
    const virtual = this.#virtual.get(session.on.facts.product);
    if (virtual?.get(session.user) !== session) return;
    virtual.delete(session.user);
    takeOff(session);
  }

  /** A slot has ended in the log. */
  noteEnd(chain: number): void {
    const license = this.#licenses.get(chain);
    if (license !== undefined) license.logged = Math.max(0, license.logged - 1);
  }

  /** A slot that was left out has no end. */
  remove(chain: number, user: string): void {
    const session = this.#sessions.get(chain)?.get(user);
    if (session === undefined) return;
    this.#sessions.get(chain)?.delete(user);
    takeOff(session);
  }

  removeAll(chain: number): void {
    const license = this.#licenses.get(chain);
    if (license !== undefined) license.logged = 0;
    for (const user of [...(this.#sessions.get(chain)?.keys() ?? [])]) this.remove(chain, user);
    for (const session of this.#listVirtual(chain)) this.endVirtual(session);
  }

  dropAllFeatures(chain: number): void {
    const logged = this.#sessions.get(chain)?.values() ?? [];
    for (const session of [...logged, ...this.#listVirtual(chain)]) dropAllFeatures(session);
  }

  /** Those on a license. */
  #listVirtual(id: number): readonly Session[] {
    const all = [...this.#virtual.values()].flatMap((users) => [...users.values()]);
    return all.filter(({ on }) => on.facts.id === id);
  }

  change(chain: number, event: LicenseChange): void {
    const license = this.#licenses.get(chain) ?? this.#addUnknown(chain, event);
    if (license === null) return;
    if (event.kind === 'license_removed') {
      license.isHeld = false;
      return;
    }
    license.slots = event.slots;
    if (event.kind === 'license_added') {
      license.isHeld = true;
      const { licenses } = this.of(license);
      licenses.delete(chain);
      licenses.set(chain, license);
    } else {
      if (event.changed.includes('enabled')) license.enabled = !license.enabled;
      if (event.changed.includes('active')) license.active = !license.active;
    }
  }

  #add(facts: StartLicense): PooledLicense {
    const license = this.#poolOf(facts.product).add(facts);
    this.#licenses.set(facts.id, license);
    return license;
  }

  #addUnknown(chain: number, event: LicenseChange): PooledLicense | null {
    return event.kind === 'license_added'
      ? this.#add(unknownLicense(chain, event.product, event.slots))
      : null;
  }

  #poolOf(product: string): Pool {
    const known = this.#pools.get(product);
    if (known !== undefined) return known;
    const pool = new Pool(product);
    this.#pools.set(product, pool);
    const { reserve } = slotRulesOf(this.#rules, product, null);
    if (reserve.length > 0) {
      this.#reserved.push({ pool, unused: new Unused(this.#rules, reserve, this.#since) });
    }
    return pool;
  }
}

function placeIn<K>(all: Map<K, Map<string, Session>>, key: K, session: Session): void {
  const users = all.get(key) ?? new Map<string, Session>();
  all.set(key, users);
  users.set(session.user, session);
}
