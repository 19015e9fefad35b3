import type { RecordedEvent } from '../nouns/audit-event.ts';
import type { Instant } from '../nouns/instant.ts';
import type { RuleSet } from '../rules/rule-set.ts';
import { slotRulesOf } from './judge.ts';
import { countFree, dropFeature, isUsable, Pool, type PooledLicense, type Session, takeOff } from './pool.ts';
import { sumCounts } from './slot-counts.ts';
import { type StartLicense, unknownLicense } from './start-license.ts';
import type { RefusingRule } from './tally.ts';
import { Unused } from './unused.ts';

type LicenseChange = Extract<
  RecordedEvent,
  { kind: 'license_added' | 'license_changed' | 'license_removed' }
>;

interface WatchedPool {
  readonly pool: Pool;
  /** `null`: nothing is reserved. */
  readonly unused: Unused | null;
}

/** All licenses during a replay, and who holds slots of them. */
export class Pools {
  readonly #rules: RuleSet;
  readonly #since: Instant;
  readonly #pools = new Map<string, WatchedPool>();
  readonly #licenses = new Map<number, PooledLicense>();
  /** By the license of the log, and by user. */
  readonly #sessions = new Map<number, Map<string, Session>>();
  /** Slots that only the rules lend, by product and by user. */
  readonly #virtual = new Map<string, Map<string, Session>>();
  #now: Instant;

  constructor(rules: RuleSet, licenses: readonly StartLicense[], since: Instant) {
    this.#rules = rules;
    this.#since = since;
    this.#now = since;
    for (const facts of licenses) this.#add(facts);
  }

  find(chain: number): PooledLicense | null {
    return this.#licenses.get(chain) ?? null;
  }

  of({ facts }: PooledLicense): Pool {
    return this.#watched(facts.product).pool;
  }

  /** What the log shows to have been lent can be used, whatever is known of the license today. */
  trust(license: PooledLicense, now: Instant): void {
    const { id, isUnsure } = license.facts;
    if (isUnsure) license.slots = Math.max(license.slots, (this.#sessions.get(id)?.size ?? 0) + 1);
    if (isUsable(license, now)) return;
    const facts = { ...license.facts, startsAt: null, endsAt: null };
    Object.assign(license, { facts, isHeld: true, enabled: true, active: true });
  }

  /** Until now, nothing has changed. */
  passTime(now: Instant): void {
    if (now <= this.#now) return;
    for (const { pool, unused } of this.#pools.values()) {
      if (unused === null) continue;
      const usable = pool.listUsable(now);
      if (usable.length === 0) unused.skip(now);
      const free = usable.reduce((sum, license) => sum + countFree(license), 0);
      unused.pass(now, sumCounts(usable.map(({ counts }) => counts)).byGroups, free);
    }
    this.#now = now;
  }

  /** Rules that have refused, and all reservations. */
  withUnused(rules: readonly RefusingRule[], until: Instant) {
    this.passTime(until);
    const reserved = [...this.#pools.values()].flatMap(({ pool, unused }) =>
      (unused?.list() ?? []).map((one) => ({ product: pool.product, feature: null, ...one })),
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
    for (const id of pool.licenses.keys()) {
      const session = id === chain ? undefined : this.#sessions.get(id)?.get(user);
      if (session !== undefined) return session;
    }
    return null;
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

  /** The user gets the slot in the log that they have from the rules already. */
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
    for (const virtual of this.#virtual.values()) {
      for (const session of [...virtual.values()]) {
        if (session.on.facts.id === chain) this.endVirtual(session);
      }
    }
  }

  dropAllFeatures(chain: number): void {
    for (const session of this.#sessions.get(chain)?.values() ?? []) {
      for (const feature of [...session.features.keys()]) dropFeature(session, feature);
    }
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
    const license = this.#watched(facts.product).pool.add(facts);
    this.#licenses.set(facts.id, license);
    return license;
  }

  #addUnknown(chain: number, event: LicenseChange): PooledLicense | null {
    return event.kind === 'license_added'
      ? this.#add(unknownLicense(chain, event.product, event.slots))
      : null;
  }

  #watched(product: string): WatchedPool {
    const known = this.#pools.get(product);
    if (known !== undefined) return known;
    const { reserve } = slotRulesOf(this.#rules, product, null);
    const unused = reserve.length === 0 ? null : new Unused(this.#rules, reserve, this.#since);
    const watched = { pool: new Pool(product), unused };
    this.#pools.set(product, watched);
    return watched;
  }
}

function placeIn<K>(all: Map<K, Map<string, Session>>, key: K, session: Session): void {
  const users = all.get(key) ?? new Map<string, Session>();
  all.set(key, users);
  users.set(session.user, session);
}
