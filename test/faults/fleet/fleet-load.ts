import { setTimeout as delay } from 'node:timers/promises';
import type { Answer, BerthApi, Facts } from '../../support/berth-api.ts';
import { createRandom, pickNumber, pickOne, type Random } from '../../support/random.ts';
import type { Life } from '../door/fault.ts';
import type { FleetBook } from './fleet-book.ts';

/** What may happen to a request; whatever else happens is a violation. */
type Trouble = 'unavailable' | 'cut';

interface LoadOptions {
  readonly api: BerthApi;
  readonly book: FleetBook;
  readonly clients: number;
  readonly seed: number;
  readonly tolerates: readonly Trouble[];
  /** No answer may take longer. */
  readonly longestAnswerMs: number;
  /** A client rests up to so long before it asks again; 0 by default. */
  readonly longestRestMs?: number | undefined;
}

interface Settled {
  readonly answer: Answer;
  /** When the request was sent that got the answer. */
  readonly sentMs: number;
  /** An earlier try was not answered, and may have done it. */
  readonly isRepeat: boolean;
}

const USERS_PER_CLIENT = 2;

/** A client that is told to come back does so after a part of that, at random: it is to hit all moments. */
const LONGEST_PAUSE_MS = 300;

/** So long after the end a request is repeated; then something does not work again. */
const LONGEST_REPEATING_MS = 30_000;

/** More of them tell nothing new. */
const ENOUGH_VIOLATIONS = 20;

/** Clients that use all of one license, each as fast as it may, until told to stop. */
export class FleetLoad {
  readonly #options: LoadOptions;
  readonly #pauses: Random;
  #endedMs = Number.POSITIVE_INFINITY;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#pauses = createRandom(options.seed + options.clients);
  }

  /** Requests under way are still answered, or repeated until they are. */
  end(): void {
    this.#endedMs = performance.now();
  }

  /** It also ends with what it is part of: after a failure nobody else would end it. */
  async run(life: Life): Promise<void> {
    life.after(() => this.end());
    const clients = Array.from({ length: this.#options.clients }, (_, client) => this.#runClient(client));
    await Promise.all(clients);
  }

  async #runClient(client: number): Promise<void> {
    const random = createRandom(this.#options.seed + client);
    const users = Array.from({ length: USERS_PER_CLIENT }, (_, index) => `user-${client}-${index}`);
    const { longestRestMs = 0 } = this.#options;
    for (let n = 0; !this.#isOver(); n++) {
      await this.#step(random, pickOne(random, users), `${client}-${n}`);
      if (longestRestMs > 0) await delay(longestRestMs * random());
    }
  }

  #isOver(): boolean {
    const { violations } = this.#options.book;
    return this.#endedMs !== Number.POSITIVE_INFINITY || violations.length >= ENOUGH_VIOLATIONS;
  }

  /** One who holds a slot renews, uses and returns it; one without mostly asks for it. */
  #step(random: Random, user: string, key: string): Promise<void> {
    const amount = pickNumber(random, { from: 1, to: 5 });
    const dice = random();
    if (dice < 0.15) return this.#countWithKey(amount, key);
    if (dice < 0.3) return this.#count(amount, `count-${key}`);
    if (!this.#options.book.slots.isKnown(user)) return dice < 0.35 ? this.#return(user) : this.#lend(user);
    if (dice < 0.48) return this.#return(user);
    if (dice < 0.62) return this.#lendFeature(user);
    return dice < 0.72 ? this.#returnFeature(user) : this.#lend(user);
  }

  async #lend(user: string): Promise<void> {
    const { book } = this.#options;
    const settled = await this.#settle('register', { product: 'hot', user });
    if (settled === null) return;
    const { answer, sentMs } = settled;
    if (answer.status === 200) book.noteLent(user, sentMs);
    else if (answer.body.code !== 'floating_not_available') this.#object(answer, `register of ${user}`);
    else if (book.slots.isCertain(user)) this.#object(answer, `register of ${user}, who holds a slot`);
    else book.slots.drop(user);
  }

  async #return(user: string): Promise<void> {
    const { slots, featureSlots } = this.#options.book;
    const wasKnown = slots.isKnown(user);
    featureSlots.drop(user);
    const until = slots.drop(user);
    const settled = await this.#settle('unregister', { product: 'hot', user });
    if (settled === null) return;
    const { answer, isRepeat } = settled;
    const what = `unregister of ${user}`;
    if (answer.status === 200 && !wasKnown) this.#object(answer, `${what}, who holds no slot`);
    if (answer.status === 200) return;
    if (answer.body.code !== 'device_not_found') this.#object(answer, what);
    else if (!isRepeat && until > performance.now()) this.#object(answer, `${what}, who holds a slot`);
  }

  async #lendFeature(user: string): Promise<void> {
    const { slots, featureSlots } = this.#options.book;
    const settled = await this.#settle('featureRegister', { product: 'hot', user, feature: 'render' });
    if (settled === null) return;
    const { answer, sentMs } = settled;
    const what = `featureRegister of ${user}`;
    if (answer.status === 200) featureSlots.take(user, sentMs, slots.certainUntil(user));
    else if (answer.body.code === 'device_not_found') {
      if (slots.isCertain(user)) this.#object(answer, `${what}, who holds a slot`);
    } else if (answer.body.code !== 'floating_not_available') this.#object(answer, what);
    else if (featureSlots.isCertain(user)) this.#object(answer, `${what}, who has the feature`);
  }

  async #returnFeature(user: string): Promise<void> {
    const until = this.#options.book.featureSlots.drop(user);
    const settled = await this.#settle('featureRelease', { product: 'hot', user, feature: 'render' });
    if (settled === null || settled.answer.status === 200) return;
    const { answer, isRepeat } = settled;
    const what = `featureRelease of ${user}`;
    if (answer.body.code !== 'floating_feature_device_not_in_use') this.#object(answer, what);
    else if (!isRepeat && until > performance.now()) this.#object(answer, `${what}, who has the feature`);
  }

  async #countWithKey(consumptions: number, key: string): Promise<void> {
    const headers = { 'idempotency-key': key };
    const settled = await this.#settle('add_consumption', { product: 'hot', consumptions }, headers);
    if (settled === null) return;
    const { status, body } = settled.answer;
    if (status === 200) this.#options.book.noteCountWithKey(consumptions, body.total_consumptions as number);
    else this.#object(settled.answer, 'a count');
  }

  /** Nobody repeats it: without a key it could be counted twice. By its user it is found in the log. */
  async #count(consumptions: number, user: string): Promise<void> {
    const { book } = this.#options;
    const { answer } = await this.#try('add_feature_consumption', {
      product: 'hot',
      feature: 'export',
      user,
      consumptions,
    });
    if (answer === null) book.countedPerhaps.set(user, consumptions);
    else if (answer.status === 200) book.counted.set(user, consumptions);
    else this.#object(answer, 'a count of the feature');
  }

  /** Asks until there is an answer. */
  async #settle(path: string, body: Facts, headers: Record<string, string> = {}): Promise<Settled | null> {
    for (let isRepeat = false; ; isRepeat = true) {
      const { answer, sentMs } = await this.#try(path, body, headers);
      if (answer !== null) return { answer, sentMs, isRepeat };
      await delay(LONGEST_PAUSE_MS * this.#pauses());
      if (performance.now() > this.#endedMs + LONGEST_REPEATING_MS) {
        this.#options.book.violations.push(`${path} of ${body.user} was never answered`);
        return null;
      }
    }
  }

  /** `null`: whether it was done, nobody can tell. */
  async #try(path: string, body: Facts, headers: Record<string, string> = {}) {
    const { api, book, longestAnswerMs } = this.#options;
    const sentMs = performance.now();
    const answer = await api.post(`/api/v4/${path}`, body, headers).catch((error: Error) => error);
    const tookMs = performance.now() - sentMs;
    book.longestAnswerMs = Math.max(book.longestAnswerMs, tookMs);
    if (tookMs > longestAnswerMs) book.violations.push(`${path} took ${Math.round(tookMs)} ms`);
    if (answer instanceof Error) {
      book.cut += 1;
      this.#expect('cut', `${path} was not answered: ${answer.message}`);
      return { answer: null, sentMs };
    }
    if (answer.status === 503) {
      book.unavailable += 1;
      this.#expect('unavailable', `${path} was answered: ${answer.text}`);
      if (answer.body.code !== 'store_unavailable' || answer.headers?.['retry-after'] === undefined)
        this.#object(answer, `${path}, without saying when to try again`);
      return { answer: null, sentMs };
    }
    book.acknowledged += 1;
    return { answer, sentMs };
  }

  #expect(trouble: Trouble, what: string): void {
    const { tolerates, book } = this.#options;
    if (!tolerates.includes(trouble)) book.violations.push(what);
  }

  #object({ status, text }: Answer, what: string): void {
    this.#options.book.violations.push(`answered ${status} to ${what}: ${text.slice(0, 200)}`);
  }
}
