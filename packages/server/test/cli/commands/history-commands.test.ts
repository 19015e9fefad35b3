import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HISTORY_COMMANDS } from '../../../src/cli/commands/history-commands.ts';

function show(words: string, body: object, flags = {}): string {
  const command = HISTORY_COMMANDS.find((one) => one.words === words);
  assert.ok(command !== undefined && 'show' in command);
  return command.show(body as never, (call) => call, flags);
}

const AT = '2026-11-15T10:01:22.000Z';
const SUBJECT = { license_id: 7, product: 'cad', name: 'CAD', feature: null };

test('denials are told in sentences', () => {
  const denial = {
    ...SUBJECT,
    first_at: AT,
    reason: 'floating_not_available',
    explanation: 'All were in use.',
  };
  const denials = [
    { ...denial, last_at: AT, user: 'fay', others: false, host: 'ws-12', address: '10.0.4.7', count: 1 },
    { ...denial, last_at: AT, user: null, others: true, host: null, address: null, count: 3 },
  ];
  const by_reason = [{ reason: 'floating_not_available', count: 4 }];
  const by_rule = [{ rule: 'limit 2 for cad', count: 3 }];
  assert.equal(
    show('usage denials', { total: 4, by_reason, by_rule, denials, left_off: 5 }),
    `4 requests were denied: 4 floating_not_available.
3 by the rule "limit 2 for cad".
${AT}  fay on ws-12 from 10.0.4.7
  All were in use.
${AT}  (others) (3 times until ${AT})
  All were in use.
5 more records: use --limit, or a shorter time.`,
  );
  assert.equal(show('usage denials', { total: 0 }), 'Nobody was denied.');
  assert.equal(
    show('usage denials', { total: 0 }, { user: 'fay' }),
    'Nobody with "fay" in the name was denied.',
  );
});

test('how long slots were held is told in hours', () => {
  const row = {
    ...SUBJECT,
    user: null,
    others: false,
    grants: 2,
    denials: 0,
    held_ms: 5_430_000,
    last_at: AT,
  };
  assert.equal(
    show('usage users', { users: [row], left_off: 0 }),
    `user            license  product  feature  grants  denials  held    last
(nobody named)  7        cad      -        2       0        1:31 h  ${AT}`,
  );
});

const NO_WAITS = {
  served: 0,
  median_ms: null,
  p90_ms: null,
  longest_ms: null,
  unserved: 0,
  unserved_median_ms: null,
};

test('how long users waited is a table', () => {
  const waits = [
    { ...SUBJECT, ...NO_WAITS, served: 9, median_ms: 3000, p90_ms: 60_000, longest_ms: 180_000 },
  ];
  assert.equal(
    show('usage waits', { waits }),
    `license  product  feature  got a slot  median     90 %        longest    gave up  after
7        cad      -        9           3 seconds  60 seconds  3 minutes  0        -`,
  );
  assert.equal(show('usage waits', { waits: [] }), 'Nobody waited in line.');
});

test('a what-if curve marks the present number of slots', () => {
  const curve = [
    { slots: 2, denials: 1, waiting_ms: 60_000 },
    { slots: 3, denials: 0, waiting_ms: 0 },
  ];
  const waits = { ...NO_WAITS, served: 4, median_ms: 1000, longest_ms: 9000 };
  assert.equal(
    show('usage what-if', { ...SUBJECT, slots: 2, median_ms: null, waits, asked: 1, enough: 3, curve }),
    '1 request found no free slot of "cad", not counting retries. ' +
      `No slot was given back yet, so each request counts for a minute.
4 users waited in line and got a slot, half within 1 second, all within 9 seconds; this counts as served.
With 3 slots nobody would have been denied.
slots  denials  waiting
2      1        0:01 h   now
3      0        0:00 h`,
  );
});

test('what nobody used is said in a sentence', () => {
  assert.equal(show('usage slots', { series: [] }), 'There is no license to report on.');
  assert.equal(show('usage users', { users: [] }), 'Nobody used anything.');
  assert.equal(show('usage consumption', { days: [] }), 'Nothing was consumed.');
  assert.equal(show('user forget', { forgotten: 0 }), 'The history does not name this user.');
});
