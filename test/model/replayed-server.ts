import type { RecordedEvent } from '@berth/server/core/nouns/audit-event';
import { HOUR_MS, type Instant, MINUTE_MS, plus } from '@berth/server/core/nouns/instant';
import { type LicenseId, licenseId } from '@berth/server/core/nouns/license';
import type { Outcome } from '@berth/server/core/outcome';
import type { RuleSet } from '@berth/server/core/rules/rule-set';
import type { AuditLink } from '@berth/server/store/query';
import { type ExamStore, grantedOf } from '../../packages/server/test/store/exam/exam-store.ts';
import { LoggedLicenses, putInOrder } from './logged-licenses.ts';

/** What was answered to a request of the log. */
export interface Replayed {
  readonly at: Instant;
  readonly user: string;
  readonly feature: string | null;
  readonly wasServed: boolean;
  readonly isServed: boolean;
  /** The rule that refuses, if the answer names one. */
  readonly rule: string | null;
}

interface Wish {
  readonly product: string;
  readonly rules: RuleSet;
  /** When they are put in force. */
  readonly since: Instant;
  /** For how many minutes slots are held, and feature slots. */
  readonly medians: { readonly slot: number; readonly feature: number };
  readonly maxBorrowHours: number;
  /** Of each license, in the order in which they were added. */
  readonly slots: readonly number[];
  /** From where slots were last renewed that were taken before `since` and are held to the end, by user. */
  readonly present: ReadonlyMap<string, Place>;
  changeSlots(id: LicenseId, slots: number): Promise<unknown>;
}

export interface Place {
  readonly hostname: string | null;
  readonly address: string;
}

interface Asker extends Place {
  readonly user: string;
}

/** A slot that is held here. */
interface Slot {
  readonly user: string;
  readonly on: LicenseId;
  /** From where its holder last asked, as far as the log says. */
  place: Place;
  /** `null`: as long as in the log. */
  until: Instant | null;
  /** Features, and until when they are held. */
  readonly features: Map<string, Instant | null>;
}

/**
 * Sends the requests of an audit log to a real store, in which nothing ends by itself, and puts rules in
 * force on the way. It knows how a trial reads a log; who gets a slot is decided by the store.
 */
export class ReplayedServer {
  readonly answers: Replayed[] = [];
  readonly #exam: ExamStore;
  readonly #wish: Wish;
  readonly #logged: LoggedLicenses;
  /** What people hold in the log, and here as well, by license of the log and user. */
  readonly #held = new Map<string, Slot>();
  /** What they hold only here, by user. */
  readonly #extra = new Map<string, Slot>();
  readonly #asked = new Map<string, Instant>();
  #isRuled = false;

  constructor(exam: ExamStore, wish: Wish) {
    this.#exam = exam;
    this.#wish = wish;
    this.#logged = new LoggedLicenses(wish.slots);
  }

  async play(links: readonly AuditLink[]): Promise<void> {
    for (const { at, chain, event, borrowedUntil } of putInOrder(links)) {
      if (!this.#isRuled && at >= this.#wish.since) await this.#putInForce();
      await this.#goTo(at);
      await this.#replay(chain, event, borrowedUntil, at);
      this.#logged.take(chain, event);
    }
  }

  async #putInForce(): Promise<void> {
    const { rules, since } = this.#wish;
    await this.#goTo(since);
    await this.#exam.execute({ kind: 'set_rules', text: 'made up', rules, by: 'admin' });
    this.#isRuled = true;
  }

  /** What they hold only here is given back in time. */
  async #goTo(at: Instant): Promise<void> {
    for (;;) {
      const due = this.#listDue(at).sort((a, b) => a.until - b.until)[0];
      if (due === undefined) break;
      this.#advance(due.until);
      await due.end();
    }
    this.#advance(at);
  }

  #listDue(at: Instant) {
    const isDue = (until: Instant | null): until is Instant => until !== null && until <= at;
    const slots = [...this.#held.values(), ...this.#extra.values()];
    return slots.flatMap((slot) => [
      ...(isDue(slot.until) ? [{ until: slot.until, end: () => this.#giveBack(slot) }] : []),
      ...[...slot.features].flatMap(([feature, until]) =>
        isDue(until) ? [{ until, end: () => this.#giveFeatureBack(slot, feature) }] : [],
      ),
    ]);
  }

  #advance(at: Instant): void {
    const ms = at - this.#exam.clock.readWall();
    if (ms > 0) this.#exam.clock.advance(ms);
  }

  async #replay(chain: number, event: RecordedEvent, until: Instant | null, at: Instant): Promise<void> {
    switch (event.kind) {
      case 'slot_lent':
        return this.#take(chain, event, until, at);
      case 'slot_borrowed':
        return this.#borrowHeld(chain, event, at);
      case 'slot_denied':
        return this.#ask(chain, event, at);
      case 'feature_lent':
        return this.#takeFeature(chain, event, at);
      case 'slot_returned':
      case 'slot_recalled':
      case 'slot_expired': {
        const slot = this.#held.get(keyOf(chain, event.user));
        return slot === undefined ? undefined : this.#giveBack(slot);
      }
      case 'feature_returned':
      case 'feature_expired': {
        const slot = this.#find(chain, event.user);
        return slot?.features.has(event.feature) ? this.#giveFeatureBack(slot, event.feature) : undefined;
      }
      case 'all_slots_returned':
        for (const slot of this.#listOf(chain)) await this.#giveBack(slot);
        return;
      case 'all_features_returned':
        for (const slot of this.#listOf(chain)) {
          for (const feature of slot.features.keys()) await this.#giveFeatureBack(slot, feature);
        }
        return;
      case 'license_changed':
        await this.#wish.changeSlots(licenseId(chain), event.slots);
    }
  }

  /** Served in the log. Refused here, it is left out, and so is its end. */
  async #take(chain: number, event: EventOf<'slot_lent'>, until: Instant | null, at: Instant): Promise<void> {
    const { user, hostname, origin = '' } = event;
    const place = this.#findPresent(user) ?? { hostname, address: origin };
    const named = this.#logged.findNamed(chain, true);
    const asker = { user, ...place };
    const outcome =
      until === null ? await this.#register(asker, named) : await this.#borrow(asker, named, until, at);
    this.#note({ user, feature: null }, at, true, outcome);
    if (outcome.kind === 'refused') return;
    const { license, registration } = grantedOf(outcome);
    const isNew = registration.registeredAt === at;
    const slot = isNew ? newSlot(user, license.id, place) : (this.#extra.get(user) as Slot);
    if (!isNew) this.#extra.delete(user);
    Object.assign(slot, {
      place: { ...place, hostname: place.hostname ?? slot.place.hostname },
      until: null,
    });
    this.#held.set(keyOf(chain, user), slot);
  }

  async #borrowHeld(chain: number, event: EventOf<'slot_borrowed'>, at: Instant): Promise<void> {
    const { user, borrowedUntil, origin = '' } = event;
    const slot = this.#find(chain, user);
    if (slot === undefined) return;
    const place = this.#findPresent(user) ?? { ...slot.place, address: origin };
    const outcome = await this.#borrow({ user, ...place }, slot.on, borrowedUntil, at);
    this.#note({ user, feature: null }, at, true, outcome);
    if (outcome.kind !== 'refused') slot.place = place;
  }

  async #takeFeature(chain: number, event: EventOf<'feature_lent'>, at: Instant): Promise<void> {
    const { user, feature, origin = '' } = event;
    const slot = this.#find(chain, user);
    if (slot === undefined) return;
    const outcome = await this.#registerFeature(slot, { ...slot.place, address: origin }, feature);
    this.#note({ user, feature }, at, true, outcome);
    if (outcome.kind !== 'refused') slot.features.set(feature, null);
  }

  /** Refused in the log. Served here, it lasts as long as others; until then they would only repeat it. */
  async #ask(chain: number, event: EventOf<'slot_denied'>, at: Instant): Promise<void> {
    const { user, feature = null, hostname = null, origin = '', code, rule } = event;
    if (user === null || !this.#isRuled) return;
    const { medians } = this.#wish;
    const lastsMs = (feature === null ? medians.slot : medians.feature) * MINUTE_MS;
    const isOpen = code === 'floating_not_available' || code === 'blacklisted' || rule !== undefined;
    const what = `${isOpen} ${feature} ${user}`;
    const asked = this.#asked.get(what);
    if (asked !== undefined && at - asked < lastsMs) return;
    this.#asked.set(what, at);
    if (!isOpen) return this.#refuse({ user, feature }, at);
    const place = { hostname, address: origin };
    const until = plus(at, lastsMs);
    if (feature !== null) return this.#askFeature(chain, { user, ...place }, feature, until, at);
    const named = this.#logged.findNamed(chain, false);
    if (rule?.startsWith('borrow ')) return this.#askBorrow({ user, ...place }, rule, at);
    const outcome = await this.#register({ user, ...place }, named);
    this.#note({ user, feature }, at, false, outcome);
    if (outcome.kind === 'refused') return;
    const { license, registration } = grantedOf(outcome);
    if (registration.registeredAt === at)
      this.#extra.set(user, { ...newSlot(user, license.id, place), until });
    else this.#moved(user, license.id, place);
  }

  /** For how long is not known, so nothing is lent. */
  async #askBorrow(asker: Asker, rule: string, at: Instant): Promise<void> {
    const hours = /^borrow hours (\d+)$/.exec(rule)?.[1];
    const until = hours === undefined ? 'longest' : plus(at, (Number(hours) + 1) * HOUR_MS);
    const { user, ...place } = asker;
    const request = { ...this.#requestFrom(place), licenseId: null, isDryRun: true as const };
    this.#note({ user, feature: null }, at, false, await this.#exam.borrow(user, until, request));
  }

  #moved(user: string, on: LicenseId, { hostname, address }: Place): void {
    for (const slot of [...this.#held.values(), ...this.#extra.values()]) {
      if (slot.user !== user || slot.on !== on) continue;
      slot.place = { hostname: hostname ?? slot.place.hostname, address };
    }
  }

  async #askFeature(
    chain: number,
    asker: Asker,
    feature: string,
    until: Instant,
    at: Instant,
  ): Promise<void> {
    const slot = this.#find(chain, asker.user);
    if (slot === undefined) return;
    const outcome = await this.#registerFeature(slot, asker, feature);
    this.#note({ user: asker.user, feature }, at, false, outcome);
    if (outcome.kind !== 'refused' && !slot.features.has(feature)) slot.features.set(feature, until);
  }

  async #giveBack(slot: Slot): Promise<void> {
    for (const slots of [this.#held, this.#extra]) {
      for (const [key, one] of slots) if (one === slot) slots.delete(key);
    }
    await this.#exam.unregister(slot.user, { product: this.#wish.product, licenseId: slot.on });
  }

  async #giveFeatureBack({ user, on, features }: Slot, feature: string): Promise<void> {
    features.delete(feature);
    await this.#exam.releaseFeature(user, { product: this.#wish.product, licenseId: on, feature });
  }

  /** Slots that were taken before the rules, and are still held, count for their place of today. */
  #findPresent(user: string): Place | undefined {
    return this.#isRuled ? undefined : this.#wish.present.get(user);
  }

  #find(chain: number, user: string): Slot | undefined {
    return this.#held.get(keyOf(chain, user)) ?? this.#extra.get(user);
  }

  /** Those of a license in the log, and those that it has lent only here. */
  #listOf(chain: number): readonly Slot[] {
    const logged = [...this.#held].filter(([key]) => key.startsWith(keyOf(chain, '')));
    return [...logged.map(([, slot]) => slot), ...[...this.#extra.values()].filter(({ on }) => on === chain)];
  }

  #register({ user, ...place }: Asker, named: LicenseId | null): Promise<Outcome> {
    return this.#exam.register(user, { ...this.#requestFrom(place), licenseId: named });
  }

  #borrow({ user, ...place }: Asker, named: LicenseId | null, until: Instant, at: Instant): Promise<Outcome> {
    const isLongest = until === at + this.#wish.maxBorrowHours * HOUR_MS;
    const request = { ...this.#requestFrom(place), licenseId: named };
    return this.#exam.borrow(user, isLongest ? 'longest' : until, request);
  }

  #registerFeature({ user, on }: Slot, place: Place, feature: string): Promise<Outcome> {
    return this.#exam.registerFeature(user, { ...this.#requestFrom(place), licenseId: on, feature });
  }

  #requestFrom({ hostname, address }: Place) {
    const host = { hostname, address: null, info: null };
    return { product: this.#wish.product, host, by: { name: 'client', address } };
  }

  #note(
    { user, feature }: Pick<Replayed, 'user' | 'feature'>,
    at: Instant,
    wasServed: boolean,
    outcome: Outcome,
  ): void {
    if (!this.#isRuled) return;
    const isServed = outcome.kind !== 'refused';
    const rule = isServed ? null : ((outcome.details.rule as string | undefined) ?? null);
    this.answers.push({ at, user, feature, wasServed, isServed, rule });
  }

  #refuse({ user, feature }: Pick<Replayed, 'user' | 'feature'>, at: Instant): void {
    this.answers.push({ at, user, feature, wasServed: false, isServed: false, rule: null });
  }
}

type EventOf<K extends RecordedEvent['kind']> = Extract<RecordedEvent, { kind: K }>;

function newSlot(user: string, on: LicenseId, place: Place): Slot {
  return { user, on, place, until: null, features: new Map() };
}

function keyOf(chain: number, user: string): string {
  return `${chain} ${user}`;
}
