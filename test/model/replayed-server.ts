import type { RecordedEvent } from '@berth/server/core/nouns/audit-event';
import { HOUR_MS, type Instant, MINUTE_MS, plus } from '@berth/server/core/nouns/instant';
import type { LicenseId } from '@berth/server/core/nouns/license';
import type { Outcome } from '@berth/server/core/outcome';
import type { RuleSet } from '@berth/server/core/rules/rule-set';
import type { AuditLink } from '@berth/server/store/query';
import type { ExamStore } from '../../packages/server/test/store/exam/exam-store.ts';

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
  changeSlots(id: LicenseId, slots: number): Promise<unknown>;
}

/** An event, and when it took effect. `borrowedUntil`: its slot was lent by a borrow. */
interface Happened {
  readonly at: Instant;
  readonly chain: number;
  readonly event: RecordedEvent;
  readonly borrowedUntil: Instant | null;
}

/** Who holds what: a user, or a user and a feature. */
interface Holding {
  readonly user: string;
  readonly feature: string | null;
}

interface Place {
  readonly hostname: string | null;
  readonly address: string;
}

/**
 * Sends the requests of an audit log to a real store, in which nothing ends by itself, and puts rules in
 * force on the way. It knows how a trial reads a log; who gets a slot is decided by the store.
 */
export class ReplayedServer {
  readonly answers: Replayed[] = [];
  readonly #exam: ExamStore;
  readonly #wish: Wish;
  /** What people hold in the log, and here as well. */
  readonly #held = new Set<string>();
  /** What they hold only here, and until when. */
  readonly #extra = new Map<string, Holding & { readonly until: Instant }>();
  readonly #asked = new Map<string, Instant>();
  readonly #places = new Map<string, Place>();
  #isRuled = false;

  constructor(exam: ExamStore, wish: Wish) {
    this.#exam = exam;
    this.#wish = wish;
  }

  async play(links: readonly AuditLink[]): Promise<void> {
    for (const happened of putInOrder(links)) {
      if (!this.#isRuled && happened.at >= this.#wish.since) await this.#putInForce();
      await this.#goTo(happened.at);
      await this.#replay(happened);
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
    const due = [...this.#extra.values()].filter(({ until }) => until <= at);
    for (const holding of due.sort((a, b) => a.until - b.until)) {
      if (!this.#extra.has(keyOf(holding))) continue;
      this.#advance(holding.until);
      await this.#giveBack(holding);
    }
    this.#advance(at);
  }

  #advance(at: Instant): void {
    const ms = at - this.#exam.clock.readWall();
    if (ms > 0) this.#exam.clock.advance(ms);
  }

  async #replay({ at, chain, event, borrowedUntil }: Happened): Promise<void> {
    switch (event.kind) {
      case 'slot_lent':
        this.#notePlace(event.user, event.hostname, event.origin);
        return this.#take({ user: event.user, feature: null }, at, () =>
          borrowedUntil === null ? this.#register(event.user) : this.#borrow(event.user, borrowedUntil, at),
        );
      case 'slot_borrowed': {
        const { user, borrowedUntil: until } = event;
        if (!this.#holds({ user, feature: null })) return;
        return this.#note({ user, feature: null }, at, true, await this.#borrow(user, until, at));
      }
      case 'slot_denied':
        return this.#ask(event, at);
      case 'feature_lent': {
        const { user, feature } = event;
        if (!this.#holds({ user, feature: null })) return;
        return this.#take({ user, feature }, at, () => this.#registerFeature({ user, feature }));
      }
      case 'slot_returned':
      case 'slot_expired':
        return this.#end({ user: event.user, feature: null });
      case 'feature_returned':
      case 'feature_expired':
        return this.#end({ user: event.user, feature: event.feature });
      case 'license_changed':
        await this.#wish.changeSlots(chain as LicenseId, event.slots);
    }
  }

  /** Served in the log. Refused here, it is left out, and so is its end. */
  async #take(holding: Holding, at: Instant, take: () => Promise<Outcome>): Promise<void> {
    const outcome = await take();
    this.#note(holding, at, true, outcome);
    if (outcome.kind === 'refused') return;
    this.#extra.delete(keyOf(holding));
    this.#held.add(keyOf(holding));
  }

  /** Refused in the log. Served here, it lasts as long as others; until then they would only repeat it. */
  async #ask(event: Extract<RecordedEvent, { kind: 'slot_denied' }>, at: Instant): Promise<void> {
    const { user, feature = null, hostname = null, origin, code } = event;
    if (user === null || !this.#isRuled) return;
    const holding = { user, feature };
    const { medians } = this.#wish;
    const lastsMs = (feature === null ? medians.slot : medians.feature) * MINUTE_MS;
    const isOpen = code === 'floating_not_available';
    const asked = this.#asked.get(`${isOpen} ${keyOf(holding)}`);
    if (asked !== undefined && at - asked < lastsMs) return;
    this.#asked.set(`${isOpen} ${keyOf(holding)}`, at);
    if (!isOpen) return this.#refuse(holding, at);
    if (feature === null) this.#notePlace(user, hostname, origin);
    else if (!this.#holds({ user, feature: null })) return;
    const outcome =
      feature === null ? await this.#register(user) : await this.#registerFeature({ user, feature });
    this.#note(holding, at, false, outcome);
    if (outcome.kind !== 'refused') this.#extra.set(keyOf(holding), { ...holding, until: plus(at, lastsMs) });
  }

  async #end(holding: Holding): Promise<void> {
    if (this.#held.has(keyOf(holding))) await this.#giveBack(holding);
    // A feature that is held only here is given back with the one in the log.
    else if (holding.feature !== null && this.#extra.has(keyOf(holding))) await this.#giveBack(holding);
  }

  async #giveBack(holding: Holding): Promise<void> {
    const { user, feature } = holding;
    this.#held.delete(keyOf(holding));
    this.#extra.delete(keyOf(holding));
    if (feature !== null) {
      await this.#exam.releaseFeature(user, { product: this.#wish.product, licenseId: null, feature });
      return;
    }
    await this.#exam.unregister(user, { product: this.#wish.product, licenseId: null });
    for (const key of [...this.#held, ...this.#extra.keys()]) {
      if (key.startsWith(`${user} `)) {
        this.#held.delete(key);
        this.#extra.delete(key);
      }
    }
  }

  #holds(holding: Holding): boolean {
    return this.#held.has(keyOf(holding)) || this.#extra.has(keyOf(holding));
  }

  #register(user: string): Promise<Outcome> {
    return this.#exam.register(user, this.#requestOf(user));
  }

  #borrow(user: string, until: Instant, at: Instant): Promise<Outcome> {
    const isLongest = until === at + this.#wish.maxBorrowHours * HOUR_MS;
    return this.#exam.borrow(user, isLongest ? 'longest' : until, this.#requestOf(user));
  }

  #registerFeature({ user, feature }: { readonly user: string; readonly feature: string }): Promise<Outcome> {
    return this.#exam.registerFeature(user, { ...this.#requestOf(user), feature });
  }

  /** A slot counts for the place from which it was taken: the log has no heartbeats. */
  #notePlace(user: string, hostname: string | null, address = ''): void {
    if (!this.#holds({ user, feature: null })) this.#places.set(user, { hostname, address });
  }

  #requestOf(user: string) {
    const { hostname, address } = this.#places.get(user) as Place;
    const host = { hostname, address: null, info: null };
    return { product: this.#wish.product, licenseId: null, host, by: { name: 'client', address } };
  }

  #note({ user, feature }: Holding, at: Instant, wasServed: boolean, outcome: Outcome): void {
    if (!this.#isRuled) return;
    const isServed = outcome.kind !== 'refused';
    const rule = isServed ? null : ((outcome.details.rule as string | undefined) ?? null);
    this.answers.push({ at, user, feature, wasServed, isServed, rule });
  }

  #refuse({ user, feature }: Holding, at: Instant): void {
    if (this.#isRuled) {
      this.answers.push({ at, user, feature, wasServed: false, isServed: false, rule: null });
    }
  }
}

function keyOf({ user, feature }: Holding): string {
  return feature === null ? user : `${user} ${feature}`;
}

/** By when they took effect: a slot is free from its end on. */
function putInOrder(links: readonly AuditLink[]): readonly Happened[] {
  const happened = links.flatMap(({ chain, at, events }) =>
    events.flatMap((event, index): Happened[] => {
      const before = events[index - 1];
      const after = events[index + 1];
      if (event.kind === 'slot_borrowed' && before?.kind === 'slot_lent') return [];
      const isBorrow = event.kind === 'slot_lent' && after?.kind === 'slot_borrowed';
      const effect = 'endedAt' in event ? (event.endedAt as Instant) : at;
      return [{ at: effect, chain, event, borrowedUntil: isBorrow ? after.borrowedUntil : null }];
    }),
  );
  return happened.sort((a, b) => a.at - b.at);
}
