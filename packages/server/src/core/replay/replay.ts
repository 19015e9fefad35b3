import { BORROW_TOLERANCE_MS } from '../lending/borrow-until.ts';
import type { Denied, RecordedEvent } from '../nouns/audit-event.ts';
import { HOUR_MS, type Instant, MINUTE_MS, plus } from '../nouns/instant.ts';
import { listGroups } from '../rules/groups.ts';
import type { RuleSet } from '../rules/rule-set.ts';
import { follow } from './follow.ts';
import { InOrder, type LoggedEvent } from './in-order.ts';
import {
  countRequest,
  endOfBorrow,
  judgeAccess,
  judgeBorrower,
  judgeFeature,
  judgeMoreBorrows,
  judgeSlot,
  type Request,
  type Verdict,
} from './judge.ts';
import { type Beginning, medianKey, type ReplayedLink } from './look-back.ts';
import {
  beginBorrow,
  type CountedSlot,
  dropFeature,
  endBorrow,
  type Pool,
  type PooledLicense,
  put,
  putFeature,
  type Session,
  setAside,
} from './pool.ts';
import { Pools } from './pools.ts';
import { Retries } from './retries.ts';
import { Tally } from './tally.ts';
import { Timetable } from './timetable.ts';

/** What becomes of one request, for whoever wants to see each. */
export interface Judged {
  readonly at: Instant;
  readonly request: Request;
  readonly wasServed: boolean;
  readonly refusal: Verdict | null;
}

type SlotDenied = Extract<RecordedEvent, { kind: 'slot_denied' }>;
type Lent = Extract<RecordedEvent, { kind: 'slot_lent' }>;
type FeatureLent = Extract<RecordedEvent, { kind: 'feature_lent' }>;

/**
 * Replays the audit log against rules.
 *
 * 1. A request that was served is judged by the rules. If they refuse it, it is left out, with its end and
 *    with the features that its user took.
 * 2. A request that was refused for lack of a slot, or by rules, is judged as well. If they serve it, it
 *    holds a slot for as long as half of the slots of the product were held. Whoever asks again sooner than
 *    that after a refused request is repeating it, and is not counted again.
 * 3. Other refusals stay: the state of the license, bars, a borrow that the license does not allow. Of a
 *    borrow that rules refused, the log does not have the date: it is judged, and holds nothing.
 * 4. Slots that were held at the beginning are held until they end: the rules are put in force at that time.
 * 5. A slot is lent on the license on which the server would lend it by now. It counts for the place from
 *    which it was taken or borrowed: the log has no heartbeats.
 * 6. Whoever waited in line is judged when they got a slot or gave up: the log does not say that they waited.
 */
export class Replay {
  readonly #rules: RuleSet;
  readonly #medians: ReadonlyMap<string, number>;
  readonly #pools: Pools;
  readonly #order = new InOrder();
  readonly #retries = new Retries();
  readonly #tally = new Tally();
  /** Slots that there would have been: they end by time. */
  readonly #ends = new Timetable<() => void>();
  readonly #watch: (judged: Judged) => void;
  #events = 0;

  constructor(
    rules: RuleSet,
    beginning: Beginning,
    since: Instant,
    watch: (judged: Judged) => void = () => {},
  ) {
    this.#rules = rules;
    this.#medians = beginning.medians;
    this.#watch = watch;
    this.#pools = new Pools(rules, beginning.licenses, since);
    // A license's own slot comes before the features that its holder has.
    const held = beginning.held.toSorted((a, b) => Number(a.feature !== null) - Number(b.feature !== null));
    for (const slot of held) {
      const { chain, user, feature, hostname, address, borrowedUntil } = slot;
      const license = this.#pools.find(chain);
      if (license === null) continue;
      const { product } = license.facts;
      if (feature === null) {
        this.#lend(chain, license, { user, hostname, address, product, feature }, borrowedUntil);
        license.logged += 1;
        continue;
      }
      const session = this.#pools.session(chain, user);
      if (session !== null) this.#addFeature(session, feature);
    }
  }

  /** The oldest first. */
  take(link: ReplayedLink): void {
    this.#events += link.events.length;
    for (const logged of this.#order.take(link)) this.#replay(logged);
  }

  /** `until`: the end of what is replayed. */
  finish(until: Instant) {
    for (const logged of this.#order.end()) this.#replay(logged);
    this.#passTime(until);
    const { rules, ...report } = this.#tally.report();
    return { events: this.#events, ...report, rules: this.#pools.withUnused(rules, until) };
  }

  #passTime(now: Instant): void {
    for (let due = this.#ends.take(now); due !== null; due = this.#ends.take(now)) {
      this.#pools.passTime(due.at);
      due.what();
    }
    this.#pools.passTime(now);
  }

  #replay({ at, chain, event, borrowedUntil }: LoggedEvent): void {
    this.#passTime(at);
    switch (event.kind) {
      case 'slot_lent':
        this.#replayLent(chain, event, borrowedUntil, at);
        break;
      case 'slot_borrowed':
        this.#replayBorrowed(chain, event.user, event.origin ?? null, event.borrowedUntil, at);
        break;
      case 'slot_denied':
        this.#replayDenied(chain, event, at);
        break;
      case 'slot_returned':
      case 'slot_expired':
      case 'slot_recalled':
        this.#pools.noteEnd(chain);
        this.#pools.remove(chain, event.user);
        break;
      case 'all_slots_returned':
        this.#pools.removeAll(chain);
        break;
      case 'feature_lent':
        this.#replayFeature(chain, event, at);
        break;
      case 'feature_returned':
      case 'feature_expired': {
        const session = this.#pools.session(chain, event.user);
        if (session !== null) dropFeature(session, event.feature);
        break;
      }
      case 'all_features_returned':
        this.#pools.dropAllFeatures(chain);
        break;
      case 'license_added':
      case 'license_changed':
      case 'license_removed':
        this.#pools.change(chain, event);
        break;
    }
  }

  #replayLent(chain: number, event: Lent, borrowedUntil: Instant | null, at: Instant): void {
    const license = this.#pools.find(chain);
    if (license === null) return;
    this.#pools.trust(license, at);
    this.#pools.remove(chain, event.user);
    const pool = this.#pools.of(license);
    const named = pool.findNamed(license, true, at);
    license.logged += 1;
    const { user, hostname, origin = null } = event;
    const request = { user, hostname, address: origin, product: pool.product, feature: null };
    const virtual = this.#pools.findVirtual(chain, user);
    const known = named === null || named === virtual?.on ? virtual : null;
    // Who borrows on another license gives the slot of the first one back.
    const isMove = known === null && named === null && borrowedUntil !== null;
    const left = isMove ? this.#pools.findElsewhere(pool, chain, user) : null;
    const putBack = left === null ? () => {} : setAside(left);
    const refusal =
      judgeAccess(this.#rules, request) ??
      (borrowedUntil === null
        ? null
        : judgeBorrower(this.#rules, request, loanOf(license, borrowedUntil), at)) ??
      (known === null ? judgeSlot(this.#rules, pool, { ...request, named }, at) : null) ??
      (borrowedUntil === null ? null : judgeMoreBorrows(this.#rules, pool, request, at));
    putBack();
    this.#answer(request, true, refusal, at);
    if (refusal !== null) return;
    const until = borrowedUntil === null ? null : endOfBorrow(this.#rules, request, borrowedUntil, at);
    if (known === null) this.#lend(chain, pool.choose(named, at) ?? license, request, until);
    else this.#adopt(chain, known, request, until, at);
  }

  /** The user gets a slot in the log that they have from the rules already. */
  #adopt(chain: number, known: Session, request: Request, until: Instant | null, at: Instant): void {
    const { hostname, address } = request;
    this.#pools.adopt(chain, known);
    follow(this.#rules, this.#pools.of(known.on), known, { hostname, address }, at);
    if (until !== null) this.#borrow(known, until);
  }

  #replayBorrowed(chain: number, user: string, origin: string | null, until: Instant, at: Instant): void {
    const session = this.#pools.session(chain, user);
    if (session === null) return;
    const pool = this.#pools.of(session.on);
    // The log does not have the host name.
    const place = { ...session.place, address: origin ?? session.place.address };
    const request = { user, ...place, product: pool.product, feature: null };
    const isNew = session.borrowedUntil === null;
    const refusal =
      judgeAccess(this.#rules, request) ??
      judgeBorrower(this.#rules, request, loanOf(session.on, until), at) ??
      (isNew ? judgeMoreBorrows(this.#rules, pool, request, at) : null);
    this.#answer(request, true, refusal, at);
    if (refusal !== null) return;
    follow(this.#rules, pool, session, place, at);
    this.#borrow(session, endOfBorrow(this.#rules, request, until, at));
  }

  #replayDenied(chain: number, event: SlotDenied, at: Instant): void {
    const { user, feature = null, origin = null, hostname = null } = event;
    const license = this.#pools.find(chain);
    if (license === null || user === null) return;
    const pool = this.#pools.of(license);
    const { product } = pool;
    const what = medianKey(product, feature);
    const medianMs = (this.#medians.get(what) ?? 1) * MINUTE_MS;
    if (this.#retries.isRetry(`${isOpen(event)}\n${what}`, user, at, medianMs)) return;
    const request = { user, hostname, address: origin, product, feature };
    const endsAt = plus(at, medianMs);
    if (!isOpen(event)) this.#answer(request, false, { rule: null, line: null }, at);
    else if (event.rule?.startsWith('borrow ')) this.#serveBorrow(pool, request, event.rule, at);
    else if (feature !== null) this.#serveFeature(chain, { ...request, feature }, endsAt, at);
    else this.#serve(license, request, endsAt, at);
  }

  /** A slot that was refused, or its renewal by somebody who was no longer allowed to use it. */
  #serve(license: PooledLicense, request: Request, endsAt: Instant, at: Instant): void {
    const pool = this.#pools.of(license);
    const named = pool.findNamed(license, false, at);
    const held = this.#pools.findHeld(pool, request.user, named);
    const refusal =
      judgeAccess(this.#rules, request) ??
      (held === null ? judgeSlot(this.#rules, pool, { ...request, named }, at) : null);
    this.#answer(request, false, refusal, at);
    if (refusal !== null) return;
    if (held !== null) follow(this.#rules, pool, held, request, at);
    else this.#lendFor(pool.choose(named, at) ?? license, request, endsAt);
  }

  /** Lends what the log does not. */
  #lendFor(on: PooledLicense, request: Request, endsAt: Instant): void {
    const session = this.#sessionOf(on, request);
    put(session);
    this.#pools.addVirtual(session);
    this.#ends.add(endsAt, () => this.#pools.endVirtual(session));
  }

  /** A borrow that a rule refused. It is not known for how long, so it is only judged. */
  #serveBorrow(pool: Pool, request: Request, rule: string, at: Instant): void {
    const loan = { until: leastUntil(rule, at), longestHours: 0 };
    const held = this.#pools.findHeld(pool, request.user, null);
    const refusal =
      judgeAccess(this.#rules, request) ??
      judgeBorrower(this.#rules, request, loan, at) ??
      (held === null ? judgeSlot(this.#rules, pool, { ...request, named: null }, at) : null) ??
      (held?.borrowedUntil == null ? judgeMoreBorrows(this.#rules, pool, request, at) : null);
    this.#answer(request, false, refusal, at);
  }

  #replayFeature(chain: number, { feature, user, origin }: FeatureLent, at: Instant): void {
    const session = this.#pools.session(chain, user);
    if (session === null) return;
    const { hostname, address } = session.place;
    const { product } = session.on.facts;
    const request = { user, hostname, address: origin ?? address, product, feature };
    const refusal = this.#judgeFeature(session, request, at);
    this.#answer(request, true, refusal, at);
    if (refusal === null) this.#addFeature(session, feature);
  }

  /** A feature that was refused. Who holds no slot of the license gets none of the feature. */
  #serveFeature(chain: number, request: FeatureRequest, endsAt: Instant, at: Instant): void {
    const { feature, user } = request;
    const session = this.#pools.session(chain, user);
    if (session === null) return;
    const refusal = this.#judgeFeature(session, request, at);
    this.#answer(request, false, refusal, at);
    if (refusal !== null || session.features.has(feature)) return;
    const slot = this.#addFeature(session, feature);
    this.#ends.add(endsAt, () => {
      if (session.features.get(feature) === slot) dropFeature(session, feature);
    });
  }

  /** Counted like the slot of the holder, from wherever they ask. */
  #judgeFeature(session: Session, request: FeatureRequest, at: Instant): Verdict | null {
    const refusal = judgeAccess(this.#rules, request);
    const { on, countedAt, features } = session;
    if (refusal !== null || features.has(request.feature)) return refusal;
    const judged = { on, request: { ...request, ...countedAt } };
    return judgeFeature(this.#rules, this.#pools.of(on), judged, at);
  }

  #addFeature(session: Session, feature: string): CountedSlot {
    const { user, countedAt, on } = session;
    const request = { user, ...countedAt, product: on.facts.product, feature };
    return putFeature(session, feature, countRequest(this.#rules, request));
  }

  #lend(chain: number, on: PooledLicense, request: Request, borrowedUntil: Instant | null): void {
    const session = this.#sessionOf(on, request);
    put(session);
    this.#pools.addSession(chain, session);
    if (borrowedUntil !== null) this.#borrow(session, borrowedUntil);
  }

  #borrow(session: Session, until: Instant): void {
    beginBorrow(session, until);
    this.#ends.add(until, () => {
      if (session.borrowedUntil === until) endBorrow(session);
    });
  }

  #sessionOf(on: PooledLicense, request: Request): Session {
    const { user, hostname, address } = request;
    const place = { hostname, address };
    const as = countRequest(this.#rules, request);
    return { user, place, countedAt: place, as, on, features: new Map(), borrowedUntil: null };
  }

  #answer(request: Request, wasServed: boolean, refusal: Verdict | null, at: Instant): void {
    const groups = [...listGroups(this.#rules, request)];
    this.#tally.add({ request, groups, at, wasServed, refusal });
    this.#watch({ at, request, wasServed, refusal });
  }
}

type FeatureRequest = Request & { readonly feature: string };

function loanOf({ facts }: PooledLicense, until: Instant) {
  return { until, longestHours: facts.maxBorrowHours };
}

/** The earliest date for which the rule can have refused: beyond its hours, if it has any. */
function leastUntil(rule: string, at: Instant): Instant {
  const hours = /^borrow hours (\d+)$/.exec(rule)?.[1];
  return hours === undefined ? at : plus(at, Number(hours) * HOUR_MS + BORROW_TOLERANCE_MS + 1);
}

/** Refusals that other rules could have changed. Bars are none of the rules. */
function isOpen({ code, barredBy, rule }: Denied): boolean {
  if (code === 'blacklisted') return barredBy !== 'bar';
  return code === 'floating_not_available' || rule !== undefined;
}
