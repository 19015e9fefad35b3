import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, plus } from '@berth/server/core/nouns/instant';
import { type LicenseId, licenseId } from '@berth/server/core/nouns/license';
import { pickNumber, pickOne, type Random } from '../support/random.ts';

/** What somebody does. Nobody does two things in one minute. */
export interface Step {
  readonly at: Instant;
  readonly user: string;
  readonly hostname: string | null;
  readonly address: string;
  /** `null`: the request names none. */
  readonly licenseId: LicenseId | null;
  /** The program that asks, if it has a name. */
  readonly instance?: string;
  readonly does: Deed;
}

/** What an administrator does is done to the user or to the license. */
type Deed =
  | 'take'
  | 'wait'
  | 'stop waiting'
  | 'give'
  | 'take feature'
  | 'wait for feature'
  | 'stop waiting for feature'
  | 'give feature'
  | 'be released'
  | 'release all'
  | 'release all features'
  | { readonly borrowHours: number | 'longest' };

export const LICENSES = [licenseId(1), licenseId(2)] as const;

const HOSTS = ['lab-1', 'lab-2', 'ws-1', 'ws-2', null];
const ADDRESSES = ['10.0.0.1', '10.0.0.2', '10.1.0.1', '2001:db8::1'];

/** Days of an office in which slots are scarce, in order. */
export function makeUpDays(random: Random, people: number, start: Instant, days: number): readonly Step[] {
  const steps: Step[] = [];
  const until = plus(start, days * DAY_MS);
  for (let number = 0; number < people; number++) {
    const user = `${pickOne(random, ['t', 'x', 'n'])}-${number}`;
    // So that no two people do something at the same time.
    let at = plus(start, number * 100 + pickMinutes(random, 1, 120));
    let named: LicenseId | null = null;
    while (at < until) {
      const visit = makeUpVisit(random, { user, at, ...makeUpPlace(random), licenseId: named });
      steps.push(...visit);
      // Who may still hold a slot of one license does not ask for one of the other.
      const last = visit.at(-1) as Step;
      if (last.does === 'give' && last.instance === undefined) {
        named = pickOne(random, [null, null, ...LICENSES]);
      }
      at = plus(last.at, pickMinutes(random, 10, isWorking(at) ? 120 : 600));
    }
  }
  return [...steps, ...makeUpReleases(random, plus(start, people * 100), until)].sort((a, b) => a.at - b.at);
}

/** An administrator takes back all slots of a license. */
function makeUpReleases(random: Random, start: Instant, until: Instant): readonly Step[] {
  const steps: Step[] = [];
  const nobody = { user: '', hostname: null, address: '' };
  for (let at = start; ; ) {
    at = plus(at, pickMinutes(random, 30, 300));
    if (at >= until) return steps;
    const does = pickOne(random, ['release all', 'release all features'] as const);
    steps.push({ ...nobody, at, licenseId: pickOne(random, LICENSES), does });
  }
}

function isWorking(at: Instant): boolean {
  const hour = Math.floor((at % DAY_MS) / HOUR_MS);
  return hour >= 7 && hour < 18;
}

function pickMinutes(random: Random, from: number, to: number): number {
  return pickNumber(random, { from, to }) * MINUTE_MS;
}

function makeUpPlace(random: Random) {
  return { hostname: pickOne(random, HOSTS), address: pickOne(random, ADDRESSES) };
}

/**
 * One visit: taking a slot, perhaps again and again, waiting for one, a feature, and leaving, or not. Some
 * move to another place on the way, and some use two programs.
 */
function makeUpVisit(random: Random, { at, ...who }: Omit<Step, 'does'>): readonly Step[] {
  const borrowHours = pickOne(random, [null, null, null, 1, 3, 30, 'longest'] as const);
  const minutes = pickNumber(random, { from: 3, to: 50 });
  const programs = pickOne(random, [[{}], [{}], [{ instance: 'a' }], [{ instance: 'a' }, { instance: 'b' }]]);
  const steps: Step[] = [];
  let place = {};
  const add = (minute: number, does: Deed, program: object = pickOne(random, programs)) => {
    if (random() < 0.2) place = makeUpPlace(random);
    steps.push({ ...who, ...place, ...program, at: plus(at, minute * MINUTE_MS), does });
  };
  const maybe = (share: number, ...step: Parameters<typeof add>) => {
    if (random() < share) add(...step);
  };
  const isWaiting = random() < 0.5;
  add(0, isWaiting ? 'wait' : borrowHours === null || random() < 0.5 ? 'take' : { borrowHours });
  for (const retry of [1, 2, 5]) maybe(0.3, retry, 'take');
  if (isWaiting) add(8, 'stop waiting');
  maybe(0.3, 9, 'take');
  maybe(0.5, 10, 'take feature');
  maybe(0.3, 11, 'wait for feature');
  if (steps.at(-1)?.does === 'wait for feature') add(15, 'stop waiting for feature');
  if (borrowHours !== null) add(16, { borrowHours });
  if (borrowHours !== null) maybe(0.3, 17, { borrowHours: 1 });
  maybe(0.5, 18, 'give feature');
  maybe(0.1, 19, 'be released');
  if (random() >= 0.8) return steps;
  for (const [index, program] of programs.entries()) add(19 + minutes + index, 'give', program);
  return steps;
}
