import { setTimeout as delay } from 'node:timers/promises';
import type { AuditedEvent, BerthApi } from '../../support/berth-api.ts';
import { pollUntil } from '../../support/poll.ts';
import { createRandom } from '../../support/random.ts';
import { testLicense } from '../../support/test-license.ts';
import { KilledWaiters } from './killed-waiters.ts';
import { ask, type LineOptions, LineSite, type Report, sayTimes, take } from './line-site.ts';

/** As many come at once; the next come when these are in line. */
const BURST = 50;

/** A slot whose answer was on its way when its client died ends by its timeout. Longer than any is held. */
const TIMEOUT_BESIDE_KILLS_MS = 6000;
const LONG_TIMEOUT_MS = 600_000;

/** A wait ends after 50 s. Whoever asks again may miss a slot meanwhile. */
const AWAY_MS = 2000;

/** A client with a slot. */
interface Held {
  readonly user: string;
  readonly api: BerthApi;
  readonly fromMs: number;
  readonly endsMs: number;
}

/** A slot ends by the server's clock, and ours may be some milliseconds behind. */
const CLOCKS_DIFFER_MS = 20;

/** While a client had a slot, as it knows itself. */
interface Use {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Many wait for a few slots, each holds one for a moment. They must be served in the order of the line, and
 * no slot may be used by two.
 */
export async function runOrderStorm(options: LineOptions): Promise<Report> {
  const { slots, holdMs, byTimeout, killed } = options;
  const timeoutMs = byTimeout ? holdMs : killed > 0 ? TIMEOUT_BESIDE_KILLS_MS : LONG_TIMEOUT_MS;
  const license = testLicense(7, { slots, timeoutMinutes: timeoutMs / 60_000 });
  const site = await LineSite.start(license, options);
  try {
    const storm = new OrderStorm(site, options);
    await storm.run();
    return await storm.report();
  } finally {
    await site.stop();
  }
}

class OrderStorm {
  readonly #site: LineSite;
  readonly #options: LineOptions;
  readonly #apis: readonly BerthApi[];
  readonly #uses: Use[] = [];
  readonly #askedAgainMs = new Map<string, number[]>();
  readonly #killed: KilledWaiters;
  /** As the server listed them when all had come. */
  #line: readonly string[] = [];
  #isFull = false;

  constructor(site: LineSite, options: LineOptions) {
    this.#site = site;
    this.#options = options;
    this.#apis = site.connect(options.waiters + options.slots + 50);
    this.#killed = new KilledWaiters(site, createRandom(options.seed), options);
  }

  async run(): Promise<void> {
    const { waiters, slots } = this.#options;
    const holders = await Promise.all(
      Array.from({ length: slots }, (_, index) => this.#take(`holder-${index}`)),
    );
    const held = holders.map((use) => this.#keep(use));
    const all = Array.from({ length: waiters }, (_, index) => `user-${String(index).padStart(4, '0')}`);
    const tasks: Promise<void>[] = [];
    for (let start = 0; start < waiters; start += BURST) {
      const burst = all.slice(start, start + BURST);
      tasks.push(
        ...burst.map((user) => (this.#killed.has(user) ? this.#waitAndDie(user) : this.#waitAndUse(user))),
      );
      await this.#site.waitUntilInLine(start + burst.length);
    }
    this.#line = await this.#site.listLine();
    this.#killed.start(this.#line);
    this.#isFull = true;
    await Promise.all([...held, ...tasks]);
  }

  async #take(user: string): Promise<Held> {
    const api = this.#apis[Number(user.replace(/\D/g, '')) % this.#apis.length] as BerthApi;
    const onAskAgain = () =>
      this.#askedAgainMs.set(user, [...(this.#askedAgainMs.get(user) ?? []), Date.now()]);
    const endsMs = await take(this.#site, api, user, { onAskAgain });
    return { user, api, fromMs: Date.now(), endsMs: endsMs as number };
  }

  /** Those who hold the slots at first do so until all have come. */
  async #keep(slot: Held): Promise<void> {
    const { fromMs, user } = slot;
    let last = slot;
    while (!this.#isFull) {
      await delay(this.#options.holdMs / 4);
      if (!this.#isFull) last = await this.#take(user);
    }
    await this.#end({ ...last, fromMs });
  }

  async #waitAndUse(user: string): Promise<void> {
    const slot = await this.#take(user);
    this.#killed.noteServed(user);
    if (!this.#options.byTimeout) await delay(this.#options.holdMs);
    await this.#end(slot);
  }

  async #waitAndDie(user: string): Promise<void> {
    // If the answer was faster, it is a client like any other.
    if (await this.#killed.wait(user)) return;
    const [api] = this.#apis as [BerthApi];
    await this.#end({ user, api, fromMs: Date.now(), endsMs: 0 });
  }

  async #end({ user, api, fromMs, endsMs }: Held): Promise<void> {
    if (this.#options.byTimeout) {
      this.#uses.push({ fromMs, toMs: endsMs });
      return;
    }
    await this.#killed.beforeSlotIsFree();
    this.#uses.push({ fromMs, toMs: Date.now() });
    await api.unregister(ask(user));
  }

  async report(): Promise<Report> {
    const { waiters, slots, holdMs, byTimeout, killed } = this.#options;
    const [api] = this.#apis as [BerthApi];
    const { violations } = this.#site;
    await this.#checkFree(api, violations);
    const events = (await api.eventsAfter(0)).toReversed();
    this.#checkOverlaps(violations);
    this.#checkInUse(events, violations);
    const away = this.#checkOrder(events, violations);
    const [each, end] = byTimeout ? ['ends by its timeout after', 'the end'] : ['held for', 'the return'];
    const lines = [
      `${waiters} waiters on ${slots} slots, ${this.#apis.length} server(s), each slot ${each} ${holdMs} ms`,
      `served in the order of the line${away === 0 ? '' : `, but for ${away} who were just asking again`}`,
    ];
    if (killed > 0) lines.push(...this.#killed.describe(events, violations));
    else lines.push(sayTimes(`from ${end} of a slot to the answer that lends it again`, this.#listGaps()));
    return { lines, violations };
  }

  /** All who live have been served and have returned their slots, so that every slot can be lent again. */
  async #checkFree(api: BerthApi, violations: string[]): Promise<void> {
    await pollUntil('all slots are free', async () =>
      (await api.holders()).length === 0 ? true : undefined,
    );
    const asked = Array.from({ length: this.#options.slots + 1 }, (_, index) => `after-${index}`);
    const answers = await Promise.all(asked.map((user) => api.register(ask(user))));
    const lent = answers.filter(({ status }) => status === 200).length;
    if (lent !== this.#options.slots) violations.push(`${lent} slots can be lent afterwards.`);
  }

  /** The slot that is free first is used first. */
  #listGaps(): readonly number[] {
    const { slots } = this.#options;
    const freedMs = this.#uses.map(({ toMs }) => toMs).sort((a, b) => a - b);
    const usedMs = this.#uses.map(({ fromMs }) => fromMs).sort((a, b) => a - b);
    return usedMs.slice(slots).map((fromMs, index) => fromMs - (freedMs[index] as number));
  }

  #checkOverlaps(violations: string[]): void {
    const lessMs = this.#options.byTimeout ? CLOCKS_DIFFER_MS : 0;
    const starts = this.#uses.map(({ fromMs }) => ({ atMs: fromMs, change: 1 }));
    const ends = this.#uses.map(({ toMs }) => ({ atMs: toMs - lessMs, change: -1 }));
    const steps = [...starts, ...ends].sort((a, b) => a.atMs - b.atMs || a.change - b.change);
    let used = 0;
    for (const { atMs, change } of steps) {
      used += change;
      if (used > this.#options.slots) violations.push(`${used} clients use a slot at ${atMs}`);
    }
  }

  #checkInUse(events: readonly AuditedEvent[], violations: string[]): void {
    let inUse = 0;
    for (const { kind, seq } of events) {
      if (kind === 'slot_lent') inUse += 1;
      else if (kind === 'slot_returned' || kind === 'slot_expired') inUse -= 1;
      if (inUse > this.#options.slots) violations.push(`${inUse} slots are lent at event ${seq}`);
    }
  }

  /** Returns how many were served later because they were asking again just then. */
  #checkOrder(events: readonly AuditedEvent[], violations: string[]): number {
    const bursts = this.#line.map((user) => Math.floor(Number(user.slice('user-'.length)) / BURST));
    if (bursts.some((burst, place) => burst < (bursts[place - 1] ?? 0)))
      violations.push('Those who came first are not first in line.');
    const lent = events.filter(({ kind }) => kind === 'slot_lent');
    let [furthest, furthestAtMs, away] = [-1, 0, 0];
    for (const { user, at } of lent) {
      const place = this.#line.indexOf(String(user));
      if (place > furthest) {
        furthest = place;
        furthestAtMs = Date.parse(String(at));
      } else if (place >= 0) {
        const asked = this.#askedAgainMs.get(String(user)) ?? [];
        if (asked.some((askedMs) => Math.abs(askedMs - furthestAtMs) < AWAY_MS)) away += 1;
        else violations.push(`${user} was overtaken by ${this.#line[furthest]}`);
      }
    }
    return away;
  }
}
