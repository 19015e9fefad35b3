import type { License } from '../../../packages/server/src/core/nouns/license.ts';
import { exampleFeature, exampleLimits } from '../../../packages/server/test/core/examples.ts';
import { pollUntil } from '../../support/poll.ts';
import { testLicense } from '../../support/test-license.ts';
import type { Findings } from '../door/fault.ts';
import { HeldSlots } from './held-slots.ts';

const SLOTS = 7;
const FEATURE_SLOTS = 2;
const MINUTE_MS = 60_000;

/** The one license that all clients want. It counts too, and has a feature with slots and one that counts. */
export function hotLicense(timeoutMinutes: number): License {
  const floating = { slots: FEATURE_SLOTS, timeoutMinutes, canBorrow: false, maxBorrowHours: 0 };
  const consumption = exampleLimits({ unlimited: true });
  return testLicense(1, {
    product: 'hot',
    slots: SLOTS,
    timeoutMinutes,
    consumption,
    features: [exampleFeature('render', { floating }), exampleFeature('export', { consumption })],
  });
}

/** How often a user must have been lent a slot. */
interface Lent {
  least: number;
  most: number;
}

/** What was asked of several servers and what they answered: what has to be true of their database. */
export class FleetBook {
  readonly violations: string[] = [];
  readonly slots: HeldSlots;
  readonly featureSlots: HeldSlots;
  readonly lent = new Map<string, Lent>();
  /** Answers to changes, refusals included. */
  acknowledged = 0;
  /** Answers that nothing can be stored now, and requests without any answer. */
  unavailable = 0;
  cut = 0;
  longestAnswerMs = 0;
  /** Counted under keys, and repeated until it was answered. */
  countedWithKey = 0;
  /** Counted without a key, each by its own user, and answered; or not, and counted perhaps. */
  readonly counted = new Map<string, number>();
  readonly countedPerhaps = new Map<string, number>();
  readonly #totals = new Set<number>();

  constructor({ timeoutMinutes }: License) {
    const { violations } = this;
    const timeoutMs = timeoutMinutes * MINUTE_MS;
    this.slots = new HeldSlots({ what: 'slots', slots: SLOTS, timeoutMs, violations });
    this.featureSlots = new HeldSlots({
      what: 'slots of the feature',
      slots: FEATURE_SLOTS,
      timeoutMs,
      violations,
    });
  }

  /** Everybody who was ever lent a slot. */
  get users(): readonly string[] {
    return [...this.lent.keys()];
  }

  noteLent(user: string, sentMs: number): void {
    const lent = this.lent.get(user) ?? { least: 0, most: 0 };
    // One who certainly holds a slot renews it; where it may have ended meanwhile, nobody can tell from here.
    if (!this.slots.isCertain(user)) lent.most += 1;
    if (!this.slots.isKnown(user)) lent.least += 1;
    this.lent.set(user, lent);
    this.slots.take(user, sentMs);
  }

  /** Every count gets to hear another total, as none is counted twice and all are positive. */
  noteCountWithKey(amount: number, total: number): void {
    this.countedWithKey += amount;
    if (this.#totals.has(total)) this.violations.push(`two counts were told the total ${total}`);
    this.#totals.add(total);
  }

  /** Waits until more than this were acknowledged. After a violation nobody asks any more. */
  async waitForAnswers(least: number): Promise<void> {
    await pollUntil(
      `more than ${least} were acknowledged`,
      () => this.acknowledged > least || this.violations.length > 0 || undefined,
    );
  }

  facts(): Findings['facts'] {
    const { acknowledged, unavailable, cut, slots, featureSlots } = this;
    const most = `${slots.most} of ${SLOTS}, of the feature ${featureSlots.most} of ${FEATURE_SLOTS}`;
    return {
      acknowledged,
      'not answered': cut,
      'answered with 503': unavailable,
      'longest answer in ms': Math.round(this.longestAnswerMs),
      'most slots at once': most,
      counted: this.countedWithKey + sum(this.counted),
    };
  }
}

function sum(amounts: ReadonlyMap<string, number>): number {
  return amounts.values().reduce((total, amount) => total + amount, 0);
}
