import { PLACE_DENIALS } from '@berth/server/core/lending/deny';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '@berth/server/core/nouns/instant';
import { licenseId } from '@berth/server/core/nouns/license';
import fc from 'fast-check';
import {
  consume,
  cutReport,
  registerBoth,
  registerFeature,
  releaseAllFeatures,
  releaseFeature,
  settleReport,
  tickToMidnight,
} from './counting-commands.ts';
import { FEATURE } from './counting-model.ts';
import type { HistoryCommand } from './history-command.ts';
import {
  borrow,
  change,
  comeAndGo,
  register,
  registerCrowd,
  releaseAll,
  restart,
  rule,
  sweep,
  takeBack,
  takeOver,
  tick,
  tickToEnd,
  turnToOtherServer,
  unregister,
} from './lending-commands.ts';
import { MAX_BORROW_MS, SHORT_BORROW_MS, TOLERANCE_MS } from './lending-model.ts';
import { TIMEOUT_MS } from './licenses-model.ts';
import { RULES } from './random-rules.ts';
import {
  handOn,
  leaveLine,
  repeatCall,
  repeatCallForFeature,
  waitForFeature,
  waitForFeatureTogether,
  waitInLine,
  waitTogether,
} from './waiting-commands.ts';

const user = fc.constantFrom('ada', 'bob', 'eve', 'zoe');
const license = fc.constantFrom(licenseId(1), licenseId(2), licenseId(3));
const instance = fc.constantFrom(null, 'p1', 'p2');
const who = fc.record({ user, licenseId: fc.option(license, { freq: 2 }), instance });

const at = fc.record({
  hostname: fc.constantFrom(null, 'ws-1', 'ws-2', 'lab-1', 'lab-2'),
  address: fc.constantFrom(null, '10.0.0.1', '10.0.1.2', '2001:db8::1', '2001:db8::2'),
});

const visitor = fc.record(
  { user, licenseId: fc.option(license, { freq: 2 }), at, instance },
  { requiredKeys: ['user', 'licenseId', 'instance'] },
);

/** Some users have more programs than a slot remembers. */
const manyPrograms = fc.tuple(user, fc.nat({ max: 40 })).map(([one, size]) =>
  Array.from({ length: size }, (_, index) => {
    return { user: one, licenseId: null, instance: `p${index}`, leaves: false };
  }),
);

/** A few of one user, and then somebody who may get the slot that they have left. */
const fewPrograms = fc
  .tuple(user, fc.array(fc.tuple(visitor, fc.boolean()), { minLength: 2, maxLength: 6 }), visitor)
  .map(([one, steps, next]) => [
    ...steps.map(([step, leaves]) => ({ ...step, user: one, leaves })),
    { ...next, leaves: false },
  ]);

/** One of two programs of a user leaves, each of which uses the slot of another license. */
const apart = fc
  .tuple(user, fc.shuffledSubarray([1, 2, 3], { minLength: 2, maxLength: 2 }), fc.constantFrom('p1', 'p2'))
  .map(([one, [first = 1, second = 2], gone]) => [
    { user: one, licenseId: licenseId(first), instance: 'p1', leaves: false },
    { user: one, licenseId: licenseId(second), instance: 'p2', leaves: false },
    { user: one, licenseId: null, instance: gone, leaves: true },
  ]);

/** More than may leave a record of their own. */
const INVENTED = Array.from({ length: PLACE_DENIALS + 10 }, (_, index) => `invented-${index}`);

const until = fc.constantFrom(
  'longest' as const,
  'unreadable' as const,
  -1,
  0,
  1,
  MINUTE_MS,
  TIMEOUT_MS,
  HOUR_MS,
  SHORT_BORROW_MS + TOLERANCE_MS,
  SHORT_BORROW_MS + TOLERANCE_MS + 1,
  MAX_BORROW_MS,
  MAX_BORROW_MS + TOLERANCE_MS,
  MAX_BORROW_MS + TOLERANCE_MS + 1,
);

const facts = fc.record({
  slots: fc.nat({ max: 3 }),
  enabled: fc.constantFrom(true, true, true, false),
  validForMs: fc.constantFrom(null, null, null, 1, TIMEOUT_MS, HOUR_MS),
  maxBorrowHours: fc.constantFrom(0, 2, 24),
});

const count = fc.constantFrom(1, 1, 2, 3, 5, 10, 13, 14, 0, -1, -4);

const consumption = fc.record({
  user: fc.constantFrom(null, null, 'ada', 'bob'),
  licenseId: fc.option(license, { freq: 2 }),
  feature: fc.constantFrom(null, null, 'export' as const),
  count,
  maxOverages: fc.constantFrom(null, null, null, 0, 1, 100),
  key: fc.constant(null),
});

/** So few that most of them are repeats, and some carry the key of another. */
const keyedConsumption = fc.record({
  user: fc.constantFrom(null, null, 'ada'),
  licenseId: fc.constantFrom(null, null, licenseId(1)),
  feature: fc.constantFrom(null, null, 'export' as const),
  count: fc.constantFrom(1, 1, 1, 2, 0),
  maxOverages: fc.constant(null),
  key: fc.constantFrom('k1', 'k2'),
});

const report = fc.record({
  licenseId: license,
  feature: fc.constantFrom(null, 'export' as const),
  reportId: fc.constantFrom('r1', 'r2'),
});

/** How long requests wait; the last of them no longer. */
const patience = fc.constantFrom(5 * SECOND_MS, HOUR_MS, HOUR_MS, 0);

/** More than there are slots. */
const WAITING = ['ada', 'bob', 'eve', 'zoe', ...INVENTED.slice(0, 5)];
const crowd = fc.shuffledSubarray(WAITING, { minLength: 2 });

/** Shorter than the rests after which a server that has its data alone has lost its line. */
const keptMs = fc.constantFrom(2 * SECOND_MS, 5 * SECOND_MS, 25 * SECOND_MS);
const callers = fc.array(
  fc.record(
    { user: fc.constantFrom(...WAITING), licenseId: fc.option(license, { freq: 2 }), at, instance },
    { requiredKeys: ['user', 'licenseId', 'instance'] },
  ),
  { minLength: 1, maxLength: 6 },
);

const someTime = fc.constantFrom(1, 1000, MINUTE_MS, TIMEOUT_MS - 1, TIMEOUT_MS, HOUR_MS, MAX_BORROW_MS);

export const COMMANDS: readonly fc.Arbitrary<HistoryCommand>[] = [
  visitor.map(register),
  fc.array(user, { minLength: 2, maxLength: 8 }).map((users) => registerCrowd(users)),
  fc
    .tuple(fc.constantFrom(5, 5, 5, 5, 5, INVENTED.length), at)
    .map(([size, one]) => registerCrowd(INVENTED.slice(0, size), one)),
  fc.tuple(visitor, until).map(([one, at]) => borrow(one, at)),
  manyPrograms.map(comeAndGo),
  fewPrograms.map(comeAndGo),
  apart.map(comeAndGo),
  who.map(unregister),
  fc.tuple(fc.constantFrom('release', 'recall'), who).map(([kind, one]) => takeBack(kind, one)),
  fc.tuple(license, facts).map(([id, change_]) => change(id, change_)),
  someTime.map(tick),
  fc.constantFrom(-1 as const, 0 as const, 1 as const).map(tickToEnd),
  license.map(sweep),
  RULES.map(rule),
  RULES.map(rule),
  license.map(releaseAll),
  consumption.map((one) => consume(one)),
  keyedConsumption.map((one) => consume(one)),
  fc
    .array(fc.oneof(consumption, keyedConsumption), { minLength: 2, maxLength: 8 })
    .map((requests) => consume(...requests)),
  who.map(registerBoth),
  who.map(registerBoth),
  fc.tuple(who, fc.oneof(fc.constant(null), until)).map(([one, at]) => registerFeature(one, at)),
  who.map((one) => registerFeature(one, null)),
  who.map(releaseFeature),
  license.map(releaseAllFeatures),
  report.map(cutReport),
  fc.tuple(report, fc.boolean()).map(([one, isCounted]) => settleReport(one, isCounted)),
  fc.constantFrom(-1 as const, 0 as const).map(tickToMidnight),
  fc.tuple(visitor, patience).map(([one, forMs]) => waitInLine(one, forMs)),
  fc.tuple(crowd, patience).map(([users, forMs]) => waitTogether(users, forMs)),
  fc.tuple(crowd, patience).map(([users, forMs]) => waitTogether(users, forMs)),
  fc.tuple(callers, keptMs).map(([all, forMs]) => repeatCall(all, forMs)),
  fc.tuple(callers, keptMs).map(([all, forMs]) => repeatCall(all, forMs)),
  fc.tuple(callers, keptMs).map(([all, forMs]) => repeatCallForFeature(all, forMs)),
  fc.tuple(who, patience).map(([one, forMs]) => waitForFeature(one, forMs)),
  fc.tuple(crowd, patience).map(([users, forMs]) => waitForFeatureTogether(users, licenseId(1), forMs)),
  fc
    .tuple(fc.constantFrom('' as const, FEATURE), fc.constantFrom(...WAITING))
    .map(([wanted, one]) => leaveLine(wanted, one)),
  fc.constantFrom(...WAITING).map((one) => unregister({ user: one, licenseId: null, instance: null })),
  fc.constantFrom(...WAITING).map((one) => releaseFeature({ user: one, licenseId: null, instance: null })),
  fc.constant(null).map(handOn),
];

const again = fc.constantFrom('restart' as const, 'crash' as const);

/** After a rest of whatever length, for a server that has its data alone: it prolongs after any. */
export const RESTARTS = fc
  .tuple(again, fc.oneof(fc.constant(0), someTime))
  .map(([how, downMs]) => restart(how, downMs));

/** The longest rest after which servers that share their data prolong nothing. */
const SHORT_REST_MS = 30_000;

/** What every store answers alike. */
export const SHARED_RESTARTS = fc.oneof(
  fc
    .tuple(
      again,
      fc.constantFrom(SHORT_REST_MS + 1, MINUTE_MS, TIMEOUT_MS - 1, TIMEOUT_MS, HOUR_MS, MAX_BORROW_MS),
    )
    .map(([how, downMs]) => restart(how, downMs)),
  fc.tuple(again, fc.constantFrom(0, 1, 1000, SHORT_REST_MS)).map(([how, downMs]) => takeOver(how, downMs)),
);

export const TURNS = fc.constant(null).map(turnToOtherServer);
