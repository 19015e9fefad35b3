import { type Instant, plus, SECOND_MS } from '@berth/server/core/nouns/instant';
import type { LicenseId } from '@berth/server/core/nouns/license';
import { CountingModel, FEATURE, FEATURE_SLOTS, nowhere } from './counting-model.ts';
import {
  type Asked,
  expectNobodyOvertaken,
  expectNothingLeftFree,
  listHeld,
  type Waiter,
  type Wanted,
} from './fair-line.ts';
import { SOMEWHERE } from './lending-model.ts';
import type { Expected, ModelLicense } from './licenses-model.ts';
import { levelOf, type Person, type Place } from './naive-rules.ts';

/** How long a place is kept after the last connection is gone, and how late a server may be. */
const GRACE_MS = 10 * SECOND_MS;
const LATE_MS = 2 * SECOND_MS;

/**
 * `forMs`: how long; 0: the wait is over. `repeats`: it is answered at once, and its place is kept. `null`:
 * the request does not wait.
 */
type Patience = { readonly forMs: number; readonly repeats?: true } | null;

/** Who waits for slots: a list, which is gone through from the front whenever something was done. */
export class WaitingModel extends CountingModel {
  line: readonly Waiter[] = [];
  /** Somebody may have left it just before a restart. */
  hasLostLine = false;
  /** How many waits ended with and without a slot. */
  readonly waits = { served: 0, unserved: 0 };
  #lastN = 0;

  override register(
    user: string,
    licenseId: LicenseId | null,
    at?: Place,
    instance: string | null = null,
    patience: Patience = null,
  ): Expected {
    return this.#take({ wanted: '', user, licenseId, at, instance }, patience);
  }

  override registerFeature(
    user: string,
    licenseId: LicenseId | null,
    until: Parameters<CountingModel['registerFeature']>[2],
    instance: string | null = null,
    patience: Patience = null,
  ): Expected {
    const asked = { wanted: FEATURE, user, licenseId, at: undefined, instance } as const;
    return this.#take(asked, patience, () => super.registerFeature(user, licenseId, until, instance));
  }

  override borrow(...args: Parameters<CountingModel['borrow']>): Expected {
    const [user, licenseId, , at, instance = null] = args;
    return this.#take({ wanted: '', user, licenseId, at, instance }, null, () => super.borrow(...args));
  }

  #ask({ wanted, user, licenseId, at, instance }: Asked): Expected {
    return wanted === ''
      ? super.register(user, licenseId, at, instance)
      : super.registerFeature(user, licenseId, null, instance);
  }

  /** A request for a slot. Whoever goes on waiting was not denied. */
  #take(asked: Asked, patience: Patience, ask = () => this.#ask(asked)): Expected {
    return this.#inTurn(() => {
      const place = this.#find(asked);
      const stays = patience !== null && patience.forMs > 0 && !patience.repeats;
      const answer = this.#besideKept(asked, () => (stays ? this.#withoutDenial(ask) : ask()));
      if (!isLack(answer)) {
        if (!isOver(place, patience, answer)) return answer;
        this.#countWait(place, answer.kind !== 'refused');
        this.#remove(asked);
        return answer;
      }
      if (patience === null) return answer;
      if (place !== undefined && this.#isGone(place)) this.#countWait(place, false);
      const known = place === undefined || this.#isGone(place) ? null : place;
      const n = known?.n ?? ++this.#lastN;
      // If what was lent to them was taken back before they knew, another wait begins.
      const since = known?.lentBy === null ? known.since : this.now;
      const { until = null, keptUntil = null } = known ?? {};
      if (patience.repeats) {
        this.#put({ ...asked, n, since, until, keptUntil: plus(this.now, patience.forMs), lentBy: null });
        return answer;
      }
      const untilNow = stays ? plus(this.now, patience.forMs + LATE_MS) : this.now;
      this.#put({ ...asked, n, since, until: untilNow, keptUntil, lentBy: null });
      return patience.forMs === 0 ? this.#withPosition(answer, asked) : this.#wait(answer, asked);
    });
  }

  #wait({ details }: Expected & { kind: 'refused' }, { wanted, user }: Asked): Expected {
    const nextEndAt = (details?.nextFreeAt as Instant | undefined) ?? null;
    return { kind: 'waiting', product: 'cad', feature: wanted, user, nextEndAt, now: this.now };
  }

  #withPosition(answer: Expected & { kind: 'refused' }, { wanted, user }: Asked): Expected {
    const waiting = this.inOrder(wanted).filter(({ lentBy }) => lentBy === null);
    const position = waiting.findIndex((one) => one.user === user) + 1;
    return { ...answer, details: { ...answer.details, position, waiting: waiting.length } };
  }

  /** If it is not carried out, nobody was denied. */
  #withoutDenial(ask: () => Expected, isCarriedOut = (answer: Expected) => !isLack(answer)): Expected {
    const denials = this.licenses.map((license) => license.denials);
    const lacking = [...this.lacking];
    const answer = ask();
    if (!isCarriedOut(answer)) {
      this.lacking = lacking;
      for (const [index, license] of this.licenses.entries()) license.denials = denials[index] as number;
    }
    return answer;
  }

  /** The connection on which somebody waited is gone; a slot that they have not heard of is given back. */
  leaveLine(wanted: Wanted, user: string): Expected {
    return this.#inTurn(() => {
      const place = this.#find({ wanted, user });
      if (place === undefined) return { kind: 'done', count: 0 };
      if (place.lentBy === null) {
        this.#put({ ...place, until: this.now });
        return { kind: 'done', count: 0 };
      }
      return this.#giveBack(place, place.lentBy);
    }, 'server');
  }

  #giveBack(place: Waiter, lender: LicenseId): Expected {
    const { wanted, user } = place;
    this.#remove(place);
    return wanted === '' ? super.unregister(user, lender) : super.releaseFeature(user, lender);
  }

  /** What was lent to those who never heard of it. */
  #takeBackLost(): void {
    for (const place of this.line)
      if (place.lentBy !== null && this.#isGone(place)) this.#giveBack(place, place.lentBy);
  }

  /** All connections are gone at once. */
  sendAllAway(): void {
    for (const { wanted, user } of this.line) this.leaveLine(wanted, user);
  }

  /** The line is lost with the server, or nobody is back in time. */
  override restart(downMs: number): void {
    this.sendAllAway();
    super.restart(downMs);
    this.hasLostLine = true;
    this.line = [];
  }

  /** What a server does every second. */
  handOn(): void {
    this.#inTurn(() => {}, 'server');
  }

  sweep(): void {
    this.#inTurn(() => {}, 'server');
  }

  override unregister(...args: Parameters<CountingModel['unregister']>): Expected {
    return this.#inTurn(() => super.unregister(...args));
  }

  override releaseFeature(...args: Parameters<CountingModel['releaseFeature']>): Expected {
    return this.#inTurn(() => super.releaseFeature(...args));
  }

  override consume(...args: Parameters<CountingModel['consume']>): Expected {
    return this.#inTurn(() => super.consume(...args));
  }

  override release(...args: Parameters<CountingModel['release']>): Expected {
    return this.#inTurn(() => super.release(...args), 'server');
  }

  override recall(...args: Parameters<CountingModel['recall']>): Expected {
    return this.#inTurn(() => super.recall(...args), 'server');
  }

  override releaseAll(id: LicenseId): Expected {
    return this.#inTurn(() => super.releaseAll(id), 'server');
  }

  override releaseAllFeatures(id: LicenseId): Expected {
    return this.#inTurn(() => super.releaseAllFeatures(id), 'server');
  }

  override cutReport(...args: Parameters<CountingModel['cutReport']>): Expected {
    return this.#inTurn(() => super.cutReport(...args), 'server');
  }

  override settleReport(...args: Parameters<CountingModel['settleReport']>): Expected {
    return this.#inTurn(() => super.settleReport(...args), 'server');
  }

  override change(...args: Parameters<CountingModel['change']>): Expected {
    return this.#inTurn(() => super.change(...args), 'server');
  }

  override rule(...args: Parameters<CountingModel['rule']>): Expected {
    return this.#inTurn(() => super.rule(...args), 'server');
  }

  /** What is free goes to those who wait, before and after a command. `by`: who sends it. */
  #inTurn<T>(act: () => T, by: 'client' | 'server' = 'client'): T {
    this.#takeBackLost();
    this.#serveAll();
    const before = listHeld(this);
    const waiting = this.line.filter((place) => this.isWaiting(place));
    const answer = act();
    if (by === 'server')
      for (const place of this.line.filter((one) => this.#isGone(one) || this.#isInVain(one))) {
        this.#countWait(place, false);
        this.#remove(place);
      }
    this.#serveAll();
    expectNobodyOvertaken(this, waiting, before);
    expectNothingLeftFree(this);
    return answer;
  }

  #serveAll(): void {
    this.forgetFeatures();
    while (this.inOrder('').some((place) => this.#serve(place))) this.forgetFeatures();
    while (this.inOrder(FEATURE).some((place) => this.#serve(place))) this.forgetFeatures();
  }

  /** Returns whether something came of it: a slot, or a refusal that ends the wait. */
  #serve(place: Waiter): boolean {
    if (!this.isWaiting(place) || !this.#hasRoom(place)) return false;
    const answer = this.#withoutDenial(
      () => this.#besideKept(place, () => this.#ask(place)),
      ({ kind }) => kind !== 'refused',
    );
    if (isLack(answer)) return false;
    this.#countWait(place, answer.kind !== 'refused');
    if (answer.kind === 'granted' || answer.kind === 'measured')
      this.#put({ ...place, lentBy: answer.licenseId });
    else this.#remove(place);
    return true;
  }

  #countWait(place: Waiter | undefined, isServed: boolean): void {
    if (place === undefined || place.lentBy !== null) return;
    // Whoever repeats the call was denied each time.
    if (place.until === null && (!isServed || this.#isGone(place))) return;
    this.waits[isServed && !this.#isGone(place) ? 'served' : 'unserved'] += 1;
  }

  /** By counts alone, beside what is kept for those who come before. */
  #hasRoom(place: Waiter): boolean {
    return this.#besideKept(place, () => this.#isFree(place));
  }

  #isFree({ wanted, licenseId }: Asked): boolean {
    return this.licenses.some((license) => {
      const { id, facts, holders } = license;
      const isAsked = licenseId === null || id === licenseId;
      const free = wanted === '' ? facts.slots - holders.size : FEATURE_SLOTS - this.featureSlots(id).size;
      return isAsked && this.isUsable(license) && free > this.keptOn(id, wanted).length;
    });
  }

  /** Decides while a slot is kept for everybody who repeats the call, comes first and could have one. */
  #besideKept<T>({ wanted, user }: Asked, decide: () => T): T {
    this.forgetFeatures();
    for (const place of this.inOrder(wanted)) {
      if (place.user === user) break;
      const repeats = place.lentBy === null && this.now < (place.keptUntil ?? 0) && !this.isWaiting(place);
      const lender = repeats && this.#isFree(place) ? this.#findLender(place) : undefined;
      if (lender === undefined) continue;
      const holder = wanted === '' ? null : lender.holders.get(place.user);
      const who = holder == null ? personOf(place) : { user: place.user, at: holder.counted };
      this.kept = [...this.kept, { id: lender.id, wanted, who }];
    }
    try {
      return decide();
    } finally {
      this.kept = [];
    }
  }

  #findLender(asked: Asked): ModelLicense | undefined {
    const { wanted, user, licenseId } = asked;
    return wanted === ''
      ? this.findLender(personOf(asked), licenseId)
      : this.findFeatureLender(user, licenseId);
  }

  couldHave(place: Waiter): boolean {
    return this.#besideKept(place, () => this.#findLender(place) !== undefined);
  }

  isWaiting({ lentBy, until }: Waiter): boolean {
    return lentBy === null && until !== null && this.now < until;
  }

  #isGone({ until, keptUntil }: Waiter): boolean {
    const isLeft = until === null || this.now >= plus(until, GRACE_MS);
    return isLeft && this.now >= (keptUntil ?? 0);
  }

  #isInVain(place: Waiter): boolean {
    const { licenseId, lentBy } = place;
    const isAsked = ({ id }: ModelLicense) => licenseId === null || id === licenseId;
    const canBeUsed = this.licenses.some((license) => isAsked(license) && this.isUsable(license));
    return lentBy === null && (!canBeUsed || this.refuseBarred(personOf(place)) !== null);
  }

  /** The highest level that the rules give them comes first, and among equals who came first. */
  inOrder(wanted: Wanted): readonly Waiter[] {
    return this.line.filter((place) => place.wanted === wanted).sort((a, b) => this.compare(a, b));
  }

  compare(a: Waiter, b: Waiter): number {
    const [levelA, levelB] = [a, b].map((one) => levelOf(this.rules, personOf(one), this.now));
    return (levelB as number) - (levelA as number) || a.n - b.n;
  }

  #find({ wanted, user }: Pick<Waiter, 'wanted' | 'user'>): Waiter | undefined {
    return this.line.find((place) => place.wanted === wanted && place.user === user);
  }

  #remove({ wanted, user }: Pick<Waiter, 'wanted' | 'user'>): void {
    this.line = this.line.filter((place) => place.wanted !== wanted || place.user !== user);
  }

  #put(place: Waiter): void {
    this.#remove(place);
    this.line = [...this.line, place];
  }
}

/** Requests for the feature do not say where they come from. */
function personOf({ wanted, user, at = SOMEWHERE }: Asked): Person {
  return wanted === '' ? { user, at } : nowhere(user);
}

function isLack(answer: Expected): answer is Expected & { kind: 'refused' } {
  return (
    answer.kind === 'refused' &&
    (answer.code === 'floating_not_available' || answer.code === 'address_limit_reached')
  );
}

/** Whether an answer, which is no lack of slots, ends the wait of its user. */
function isOver(place: Waiter | undefined, patience: Patience, answer: Expected): boolean {
  if (place === undefined) return false;
  if (answer.kind !== 'granted' && answer.kind !== 'measured') return patience !== null;
  return place.licenseId === null || place.licenseId === answer.licenseId;
}
