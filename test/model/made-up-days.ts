import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, plus } from '@berth/server/core/nouns/instant';
import type { Group, Limit, ProductRules, RuleSet, SlotRules } from '@berth/server/core/rules/rule-set';
import { pickNumber, pickOne, type Random } from '../support/random.ts';

/** What somebody does. Nobody does two things in one minute. */
export interface Step {
  readonly at: Instant;
  readonly user: string;
  readonly hostname: string | null;
  readonly address: string;
  readonly does:
    | 'take'
    | 'give'
    | 'take feature'
    | 'give feature'
    | { readonly borrowHours: number | 'longest' };
}

export const FEATURE = 'render';

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
    let place = makeUpPlace(random);
    while (at < until) {
      const visit = makeUpVisit(random, { user, at, ...place });
      steps.push(...visit);
      // Who may still hold the slot stays where they are: the log does not say from where a slot is renewed.
      if (visit.at(-1)?.does === 'give') place = makeUpPlace(random);
      at = plus((visit.at(-1) as Step).at, pickMinutes(random, 10, isWorking(at) ? 120 : 600));
    }
  }
  return steps.sort((a, b) => a.at - b.at);
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

/** One visit: taking a slot, perhaps again and again, a feature, and leaving, or not. */
function makeUpVisit(random: Random, { at, ...who }: Omit<Step, 'does'>): readonly Step[] {
  const borrowHours = pickOne(random, [null, null, null, 1, 3, 30, 'longest'] as const);
  const minutes = pickNumber(random, { from: 3, to: 50 });
  const steps: Step[] = [];
  const add = (minute: number, does: Step['does']) =>
    steps.push({ ...who, at: plus(at, minute * MINUTE_MS), does });
  add(0, borrowHours === null || random() < 0.5 ? 'take' : { borrowHours });
  for (const retry of [1, 2, 5, 9]) if (random() < 0.3) add(retry, 'take');
  if (random() < 0.5) add(10, 'take feature');
  if (random() < 0.3) add(11, 'take feature');
  if (borrowHours !== null) add(12, { borrowHours });
  if (random() < 0.5) add(13, 'give feature');
  if (random() < 0.8) add(13 + minutes, 'give');
  return steps;
}

const GROUPS: Readonly<Record<string, Group>> = {
  team: { users: ['t-*'], hosts: [], addresses: [], groups: [] },
  ext: { users: ['x-*'], hosts: [], addresses: [], groups: [] },
  lab: { users: [], hosts: ['lab-*'], addresses: [], groups: [] },
  site: { users: [], hosts: [], addresses: ['10.0.0.0/24', '2001:db8::/32'], groups: [] },
  staff: { users: ['n-1*'], hosts: [], addresses: [], groups: ['team', 'lab'] },
};

const NAMES = Object.keys(GROUPS);
const NOBODY = { users: [], hosts: [], addresses: [], groups: [] };

export function makeUpRules(random: Random, product: string): RuleSet {
  const times = { office: { days: [1, 2, 3, 4, 5], from: 8 * 60, to: 18 * 60, zone: 'Europe/Berlin' } };
  const own: ProductRules = {
    ...makeUpSlotRules(random),
    borrow: random() < 0.7 ? makeUpBorrow(random) : null,
    priority: [],
    features: random() < 0.8 ? { [FEATURE]: makeUpSlotRules(random) } : {},
  };
  return { groups: GROUPS, times, deny: NOBODY, products: { [product]: own } };
}

function makeUpSlotRules(random: Random): SlotRules {
  const some = <T>(make: () => T) => Array.from({ length: pickNumber(random, { from: 0, to: 3 }) }, make);
  const line = () => pickNumber(random, { from: 1, to: 99 });
  const during = () => pickOne(random, [null, 'office']);
  const slots = () => pickNumber(random, { from: 1, to: 3 });
  const of = (): Limit['of'] =>
    pickOne(random, [{ group: pickOne(random, NAMES) }, { each: 'host' }, { each: 'address' }] as const);
  return {
    allow: random() < 0.2 ? ['staff', pickOne(random, NAMES)] : null,
    deny: random() < 0.2 ? { ...NOBODY, groups: [pickOne(random, NAMES)] } : NOBODY,
    reserve: some(() => ({ slots: slots(), for: pickOne(random, NAMES), line: line(), during: during() })),
    limit: some(() => ({ slots: slots() + 1, of: of(), line: line(), during: during() })),
  };
}

function makeUpBorrow(random: Random) {
  return {
    allow: pickOne(random, [null, ['staff', 'ext']]),
    hours: pickOne(random, [null, 2, 24]),
    keep: pickNumber(random, { from: 0, to: 4 }),
    perAddress: pickOne(random, [null, 1, 2]),
    line: 50,
    during: pickOne(random, [null, 'office']),
  };
}
