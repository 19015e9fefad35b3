import { PLACE_DENIALS } from '../../../packages/server/src/core/lending/deny.ts';
import type { Answer, AuditedEvent, Facts, Holder } from '../../support/berth-api.ts';

/** What a client asks for. A user is only ever used by one client, so a user has one operation at a time. */
export interface Operation {
  readonly kind: 'register' | 'borrow' | 'unregister';
  readonly licenseId: number;
  readonly user: string;
  /** For a borrow: until when. No two borrows have the same instant. */
  readonly until: string | null;
}

/** What a user has: nothing, or a slot that may be borrowed. */
type State = { readonly borrowedUntil: string | null } | null;

/** Events that each operation leaves exactly one of. Renewals leave none. */
const COUNTED_KINDS = ['slot_lent', 'slot_borrowed', 'slot_returned'] as const;
type CountedKind = (typeof COUNTED_KINDS)[number];

/**
 * What must be true of the server, known from its acknowledgements alone. Of a user's operations that were
 * never answered one may have happened, or none; the next look tells, and anything else is a violation.
 */
export class SlotBook {
  readonly violations: string[] = [];
  acknowledged = 0;
  readonly #states = new Map<string, State>();
  readonly #unanswered = new Map<string, readonly Operation[]>();
  readonly #denied = new Set<string>();
  readonly #expected = new Map<string, number>();
  readonly #audited = new Map<string, number>();
  #lastSeq = 0;

  get lastSeq(): number {
    return this.#lastSeq;
  }

  isHolding(licenseId: number, user: string): boolean {
    return this.#stateOf(`${licenseId}/${user}`) !== null;
  }

  /** It is on its way: until the answer nobody knows whether it happened. */
  begin(operation: Operation): void {
    const key = keyOf(operation);
    this.#unanswered.set(key, [...(this.#unanswered.get(key) ?? []), operation]);
  }

  /** The server says that nothing was changed. */
  dismiss(operation: Operation): void {
    const key = keyOf(operation);
    const others = (this.#unanswered.get(key) ?? []).filter((other) => other !== operation);
    this.#unanswered.set(key, others);
  }

  acknowledge(operation: Operation, answer: Answer): void {
    const key = keyOf(operation);
    const before = this.#stateOf(key);
    this.acknowledged += 1;
    this.dismiss(operation);
    if (answer.status === 200) this.#apply(operation);
    if (answer.body.code === 'floating_not_available') this.#denied.add(key);
    const problem = judgeAnswer(operation, before, answer);
    if (problem !== null) this.violations.push(`${key}: ${problem}: ${answer.text.slice(0, 200)}`);
  }

  /** Compares with who holds a slot now, and learns what became of the operations that were not answered. */
  reconcile(holders: readonly Holder[]): void {
    const seen = new Map(holders.map((holder) => [`${holder.license_id}/${holder.user}`, holder]));
    for (const key of new Set([...this.#states.keys(), ...this.#unanswered.keys(), ...seen.keys()])) {
      const holder = seen.get(key);
      this.#reconcileOne(key, holder === undefined ? null : { borrowedUntil: holder.borrowed_until });
    }
    this.#unanswered.clear();
  }

  /** No license lends more than it has, and each counts right. */
  checkLimits(licenses: readonly Facts[], holders: readonly Holder[]): void {
    for (const { id, floating_users: slots, floating_in_use: inUse } of licenses) {
      const count = holders.filter((holder) => holder.license_id === id).length;
      if (count > (slots as number)) this.violations.push(`license ${id}: ${count} of ${slots} slots lent`);
      if (count !== inUse) this.violations.push(`license ${id}: counts ${inUse}, but ${count} hold a slot`);
    }
  }

  /** The records alone tell who holds a slot: lent once more than given back, or as often. */
  checkHeld(holders: readonly Holder[]): void {
    const held = new Set(holders.map(({ license_id, user }) => `${license_id}/${user}`));
    for (const key of new Set([...this.#states.keys(), ...held])) {
      const lent = this.#audited.get(`${key} slot_lent`) ?? 0;
      const returned = this.#audited.get(`${key} slot_returned`) ?? 0;
      if (lent - returned === (held.has(key) ? 1 : 0)) continue;
      const holds = held.has(key) ? 'holds a slot' : 'holds none';
      this.violations.push(`${key}: ${holds}, but was lent ${lent} and gave back ${returned}`);
    }
  }

  /** Every grant, borrow and return has exactly one event, and whoever was denied appears. */
  checkAudit(newEvents: readonly AuditedEvent[]): void {
    for (const event of newEvents) {
      const entry = `${event.license_id}/${event.user} ${event.kind}`;
      this.#audited.set(entry, (this.#audited.get(entry) ?? 0) + 1);
      this.#lastSeq = Math.max(this.#lastSeq, event.seq);
      if (event.kind === 'slot_expired') this.violations.push(`${entry}: nothing ends during a storm`);
    }
    for (const key of this.#states.keys()) {
      for (const kind of COUNTED_KINDS) this.#compareCount(`${key} ${kind}`);
    }
    for (const key of this.#denied) {
      if (this.#audited.has(`${key} slot_denied`) || this.#isOverShare(key)) continue;
      this.violations.push(`${key}: denied without an event`);
    }
  }

  /** Whether denials of the license are only counted by now: all users of a storm have the same address. */
  #isOverShare(key: string): boolean {
    const license = key.slice(0, key.indexOf('/') + 1);
    const denials = [...this.#audited].filter(
      ([entry]) => entry.startsWith(license) && entry.endsWith(' slot_denied'),
    );
    return denials.reduce((sum, [, count]) => sum + count, 0) >= PLACE_DENIALS;
  }

  #stateOf(key: string): State {
    return this.#states.get(key) ?? null;
  }

  #apply(operation: Operation): void {
    const key = keyOf(operation);
    const before = this.#stateOf(key);
    this.#states.set(key, stateAfter(operation, before));
    for (const kind of eventsOf(operation, before)) {
      this.#expected.set(`${key} ${kind}`, (this.#expected.get(`${key} ${kind}`) ?? 0) + 1);
    }
  }

  #reconcileOne(key: string, actual: State): void {
    const before = this.#stateOf(key);
    if (isSame(actual, before)) return;
    const unanswered = this.#unanswered.get(key) ?? [];
    const happened = unanswered.find((operation) => isSame(actual, stateAfter(operation, before)));
    if (happened !== undefined) {
      this.#apply(happened);
      return;
    }
    const kinds = unanswered.map(({ kind }) => kind).join(' ') || 'nothing';
    this.violations.push(`${key}: acknowledged ${say(before)}, found ${say(actual)}, unanswered ${kinds}`);
  }

  #compareCount(entry: string): void {
    const expected = this.#expected.get(entry) ?? 0;
    const audited = this.#audited.get(entry) ?? 0;
    if (expected !== audited) this.violations.push(`${entry}: happened ${expected}, audited ${audited}`);
  }
}

function keyOf({ licenseId, user }: Operation): string {
  return `${licenseId}/${user}`;
}

function isSame(a: State, b: State): boolean {
  return a === null || b === null ? a === b : a.borrowedUntil === b.borrowedUntil;
}

function say(state: State): string {
  if (state === null) return 'no slot';
  return state.borrowedUntil === null ? 'a slot' : `a slot until ${state.borrowedUntil}`;
}

function stateAfter({ kind, until }: Operation, before: State): State {
  if (kind === 'unregister') return null;
  return kind === 'borrow' ? { borrowedUntil: until } : (before ?? { borrowedUntil: null });
}

function eventsOf({ kind }: Operation, before: State): readonly CountedKind[] {
  if (kind === 'unregister') return ['slot_returned'];
  const lent = before === null ? (['slot_lent'] as const) : [];
  return kind === 'borrow' ? [...lent, 'slot_borrowed'] : lent;
}

/** What is wrong with an answer, given what the user had before. */
function judgeAnswer(operation: Operation, before: State, { status, body }: Answer): string | null {
  if (status === 200) {
    if (operation.kind === 'unregister') return before === null ? 'returned a slot that nobody held' : null;
    const until = stateAfter(operation, before)?.borrowedUntil;
    return body.borrowed_until === until ? null : `the answer to ${operation.kind} is not until ${until}`;
  }
  const refusal = operation.kind === 'unregister' ? 'device_not_found' : 'floating_not_available';
  if (body.code !== refusal) return `unexpected answer ${status} to ${operation.kind}`;
  return before === null ? null : `${operation.kind} refused to one who holds a slot`;
}
