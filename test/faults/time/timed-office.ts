import { exampleLimits } from '../../../packages/server/test/core/examples.ts';
import { BerthApi } from '../../support/berth-api.ts';
import { type FakedClock, HOUR_MS, MINUTE_MS, makeFakedClock } from '../../support/faked-clock.ts';
import { pickNumber, pickOne, type Random } from '../../support/random.ts';
import { ServerUnderTest } from '../../support/server-under-test.ts';
import { testLicense } from '../../support/test-license.ts';
import type { Life } from '../door/fault.ts';

const SLOTS = 4;
const TIMEOUT_MS = MINUTE_MS;
const PEOPLE = Array.from({ length: 8 }, (_, index) => `user-${index}`);
export const LICENSE = testLicense(1, {
  slots: SLOTS,
  timeoutMinutes: TIMEOUT_MS / MINUTE_MS,
  consumption: exampleLimits({ unlimited: true }),
});

/** Dates are told in whole seconds, and some time lies between asking and being answered. */
const TOLERANCE_MS = 2500;

/** A server that did not look at its clock for longer than this was down, which nobody pays for. */
const DOWNTIME_MS = 30_000;
/** So near to it, it may go either way. */
const UNCLEAR_MS = 5000;

/** What a user was promised, by the server's time. */
interface Slot {
  /** Not before. */
  readonly leastEndsAt: number;
  /** Not after. */
  readonly mostEndsAt: number;
}

/**
 * People who use one license of a server whose wall clock is ours, and a book of what they were promised. The
 * server's time is known from outside, within a tolerance, by the rules of `docs/leases.md`.
 */
export class TimedOffice {
  readonly violations: string[] = [];
  answered = 0;
  readonly server: ServerUnderTest;
  readonly clock: FakedClock;
  protected readonly random: Random;
  /** How much later it is than the server says. */
  protected aheadMs = 0;
  readonly #slots = new Map<string, Slot>();
  #counted = 0;

  protected constructor(server: ServerUnderTest, clock: FakedClock, random: Random) {
    this.server = server;
    this.clock = clock;
    this.random = random;
  }

  static async open(life: Life, random: Random): Promise<TimedOffice> {
    const clock = await makeFakedClock(life);
    if (clock === null) throw new Error('This needs libfaketime.');
    const server = await ServerUnderTest.start(life, { licenses: [LICENSE], env: clock.env });
    return new TimedOffice(server, clock, random);
  }

  async readServerMs(): Promise<number> {
    return this.#readDate((await this.server.api.clock()).server_at);
  }

  #readDate(date: string): number {
    return Date.parse(date) + this.aheadMs;
  }

  /** Time passes for a server that is stopped. */
  async passGap(gapMs: number): Promise<void> {
    this.clock.set(this.clock.shiftMs + gapMs);
  }

  /** Some ask, some return, some borrow. */
  async work(): Promise<void> {
    const rounds = pickNumber(this.random, { from: 1, to: 6 });
    for (let round = 0; round < rounds; round++) await this.#act(pickOne(this.random, PEOPLE));
  }

  async #act(user: string): Promise<void> {
    const { api } = this.server;
    const dice = this.random();
    const before = await this.readServerMs();
    if (dice < 0.2) {
      const { status, text } = await api.unregister({ product: LICENSE.product, user });
      this.#note(user, status === 200, before, `unregister: ${text}`);
      this.#slots.delete(user);
      return;
    }
    if (dice < 0.35) {
      const until = before + pickNumber(this.random, { from: 2 * MINUTE_MS, to: 2 * HOUR_MS });
      const borrowed_until = new Date(until - this.aheadMs).toISOString();
      const { status, text } = await api.borrow({ product: LICENSE.product, user, borrowed_until });
      const borrow = { leastEndsAt: until - TOLERANCE_MS, mostEndsAt: until + TOLERANCE_MS };
      await this.#learn(user, status === 200, before, borrow, text);
      return;
    }
    const { status, text } = await api.register({ product: LICENSE.product, user });
    await this.#learn(user, status === 200, before, this.#slots.get(user), text);
  }

  /** `atLeast`: the borrow, or what they had before, which a heartbeat does not shorten. */
  async #learn(user: string, isLent: boolean, askedAt: number, atLeast: Slot | undefined, text: string) {
    const now = await this.readServerMs();
    if (!isLent) {
      this.#note(user, false, askedAt, `refused: ${text}`);
      const held = this.#countLive(askedAt, 'most');
      if (held < SLOTS && !this.#slots.has(user)) {
        this.violations.push(`${user} was refused while ${held} of ${SLOTS} slots can be in use: ${text}`);
      }
      return;
    }
    this.answered += 1;
    this.#forgetEnded(askedAt);
    const others = [...this.#slots].filter(
      ([name, slot]) => name !== user && this.#isLive(slot, now, 'least'),
    );
    if (others.length >= SLOTS) {
      this.violations.push(`${user} was lent a slot while ${others.map(([name]) => name)} hold all of them`);
    }
    this.#slots.set(user, {
      leastEndsAt: Math.max(askedAt + TIMEOUT_MS - TOLERANCE_MS, atLeast?.leastEndsAt ?? 0),
      mostEndsAt: Math.max(now + TIMEOUT_MS + TOLERANCE_MS, atLeast?.mostEndsAt ?? 0),
    });
  }

  /** Somebody who certainly holds a slot renews and returns it. */
  #note(user: string, isDone: boolean, askedAt: number, text: string): void {
    this.answered += 1;
    const slot = this.#slots.get(user);
    if (!isDone && slot !== undefined && this.#isLive(slot, askedAt + TOLERANCE_MS, 'least')) {
      this.violations.push(
        `${user} holds a slot until ${iso(slot.leastEndsAt)}, now ${iso(askedAt)}; ${text}`,
      );
    }
  }

  #isLive({ leastEndsAt, mostEndsAt }: Slot, now: number, how: 'least' | 'most'): boolean {
    return (how === 'least' ? leastEndsAt : mostEndsAt) > now;
  }

  #countLive(now: number, how: 'least' | 'most'): number {
    return [...this.#slots.values()].filter((slot) => this.#isLive(slot, now, how)).length;
  }

  #forgetEnded(now: number): void {
    for (const [user, slot] of this.#slots) if (!this.#isLive(slot, now, 'most')) this.#slots.delete(user);
  }

  /**
   * The server's time has gone from `from` to `to` while nobody could ask. After more than the time that
   * counts as downtime, whoever held a slot has a whole timeout again.
   */
  passDowntime(from: number, to: number, { isRestart = false } = {}): void {
    const gapMs = to - from;
    this.#forgetEnded(from - TOLERANCE_MS);
    for (const [user, slot] of this.#slots) {
      const isCertain = this.#isLive(slot, from, 'least');
      const isDown = isRestart || gapMs > DOWNTIME_MS + UNCLEAR_MS;
      const mayBeDown = isRestart || gapMs > DOWNTIME_MS - UNCLEAR_MS;
      const whole = to + TIMEOUT_MS;
      this.#slots.set(user, {
        leastEndsAt:
          isDown && isCertain ? Math.max(slot.leastEndsAt, whole - TOLERANCE_MS) : slot.leastEndsAt,
        mostEndsAt: mayBeDown ? Math.max(slot.mostEndsAt, whole + TOLERANCE_MS) : slot.mostEndsAt,
      });
    }
  }

  /** The list of holders agrees with the book, and with the license. */
  async inspect(what: string): Promise<void> {
    const before = await this.readServerMs();
    const holders = await this.server.api.holders();
    const after = await this.readServerMs();
    const listed = new Set(holders.map(({ user }) => user));
    if (holders.length > SLOTS) this.violations.push(`${what}: ${holders.length} of ${SLOTS} slots are lent`);
    for (const [user, slot] of this.#slots) {
      const isMissing = !listed.has(user) && this.#isLive(slot, after, 'least');
      if (isMissing)
        this.violations.push(`${what}: ${user} has lost the slot until ${iso(slot.leastEndsAt)}`);
    }
    for (const { user, ends_at } of holders) {
      const slot = this.#slots.get(user);
      const endsAt = this.#readDate(ends_at);
      if (slot === undefined) this.violations.push(`${what}: ${user} holds a slot that nobody lent`);
      else if (endsAt < slot.leastEndsAt)
        this.violations.push(`${what}: the slot of ${user} ends early, ${say(endsAt, slot)}`);
      else if (endsAt > slot.mostEndsAt)
        this.violations.push(`${what}: the slot of ${user} ends late, ${say(endsAt, slot)}`);
      if (endsAt <= before) this.violations.push(`${what}: ${user} is listed after the end ${ends_at}`);
    }
  }

  /** Strangers ask while the server cannot answer; each of them is a user of the book. */
  askAtOnce(): { settle(): Promise<void> } {
    const users = PEOPLE.filter((user) => !this.#slots.has(user)).slice(0, 3);
    const api = new BerthApi(this.server.url);
    const asked = users.map((user) => api.register({ product: LICENSE.product, user }));
    return {
      settle: async () => {
        const before = await this.readServerMs();
        for (const [index, answer] of (await Promise.all(asked)).entries()) {
          const { status, text } = answer;
          await this.#learn(users[index] as string, status === 200, before, undefined, text);
        }
        api.close();
      },
    };
  }

  /** Counts as fast as it is answered, so that a commit is under way whatever happens. */
  startCounting(): { stop(): Promise<void> } {
    const api = new BerthApi(this.server.url);
    let isOver = false;
    const count = async () => {
      while (!isOver) {
        const answer = await api
          .post('/api/v4/add_consumption', { product: LICENSE.product })
          .catch((error: Error) => ({ status: 0, text: error.message }));
        if (answer.status === 200) this.#counted += 1;
        else {
          this.violations.push(`a count was answered with ${answer.status}: ${answer.text}`);
          return;
        }
      }
    };
    const counting = Promise.all([count(), count()]);
    return {
      stop: async () => {
        isOver = true;
        await counting;
        api.close();
      },
    };
  }

  /** Everything was counted once, and the chain of the audit log is whole. */
  async verify(): Promise<void> {
    const { body } = await this.server.api.get(`/api/v4/license?product=${LICENSE.product}`);
    if (body.total_consumptions !== this.#counted) {
      this.violations.push(`the total is ${body.total_consumptions}, and ${this.#counted} were answered`);
    }
    const verdict = await this.server.api.verifyAudit();
    if (verdict.ok !== true) this.violations.push(`the audit log is broken: ${JSON.stringify(verdict)}`);
  }
}

function iso(millis: number): string {
  return new Date(millis).toISOString();
}

function say(endsAt: number, { leastEndsAt, mostEndsAt }: Slot): string {
  return `at ${iso(endsAt)} instead of ${iso(leastEndsAt)} to ${iso(mostEndsAt)}`;
}
