import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { instant } from '../../packages/server/src/core/nouns/instant.ts';
import type { Facts } from '../support/berth-api.ts';
import { runBerth } from '../support/berth-command.ts';
import { seedLicenses } from '../support/server-process.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';
import { testLicense } from '../support/test-license.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const LONGEST_HOURS = 168;

function ahead(millis: number): string {
  return new Date(Date.now() + millis).toISOString();
}

function startServer(t: TestContext): Promise<ServerUnderTest> {
  const validUntil = instant(Date.now() + 2 * HOUR_MS);
  return ServerUnderTest.start(t, {
    isHere: true,
    licenses: [
      testLicense(1, { product: 'cad', slots: 20, maxBorrowHours: LONGEST_HOURS }),
      testLicense(2, { product: 'fixed', canBorrow: false }),
      testLicense(3, { product: 'never', maxBorrowHours: 0 }),
      testLicense(4, { product: 'ending', validUntil }),
    ],
  });
}

/** The server's clock and ours are the same one, but it counts on between two looks at it. */
const CLOCKS_DIFFER_MS = 1000;

/** The server's time of the answer lies between the two looks at the clock. */
async function assertLongest(ask: () => Promise<Facts>): Promise<void> {
  const from = Date.now();
  const answeredAt = Date.parse((await ask()).borrowed_until as string) - LONGEST_HOURS * HOUR_MS;
  assert.ok(answeredAt >= from - CLOCKS_DIFFER_MS && answeredAt <= Date.now() + CLOCKS_DIFFER_MS);
}

describe('what can be asked for', () => {
  test('is granted to the millisecond, or as long as the license allows', async (t) => {
    const { api } = await startServer(t);
    const borrow = async (user: string, borrowed_until?: unknown) => {
      const { status, body, text } = await api.borrow({ product: 'cad', user, borrowed_until });
      assert.equal(status, 200, text);
      assert.equal(body.is_borrowed, true);
      assert.equal((await api.holder(user))?.borrowed_until, body.borrowed_until);
      return body;
    };
    await t.test('a date', async () => {
      const until = ahead(DAY_MS);
      assert.equal((await borrow('date', until)).borrowed_until, until);
    });
    await t.test('a day without a time, which begins at midnight UTC', async () => {
      const day = ahead(3 * DAY_MS).slice(0, 10);
      assert.equal((await borrow('day', day)).borrowed_until, `${day}T00:00:00.000Z`);
    });
    await t.test('a date of another zone', async () => {
      const until = ahead(DAY_MS);
      const elsewhere = `${new Date(Date.parse(until) + 2 * HOUR_MS).toISOString().slice(0, -1)}+02:00`;
      assert.equal((await borrow('zone', elsewhere)).borrowed_until, until);
    });
    for (const [name, value] of Object.entries({ null: null, empty: '', unset: '0001-01-01T00:00:00Z' })) {
      await t.test(`${name}, which means the longest`, () => assertLongest(() => borrow(name, value)));
    }
    await t.test('nothing at all, which means the longest', () => assertLongest(() => borrow('missing')));
    await t.test('a minute too long, which is cut', () =>
      assertLongest(() => borrow('cut', ahead(LONGEST_HOURS * HOUR_MS + MINUTE_MS))),
    );
  });

  test('is refused with a reason, and lends nothing', async (t) => {
    const { api } = await startServer(t);
    const refusals: readonly [name: string, product: string, until: string, code: string][] = [
      ['an hour too long', 'cad', ahead((LONGEST_HOURS + 1) * HOUR_MS), 'borrow_until_not_valid'],
      ['beyond the end of the license', 'ending', ahead(4 * HOUR_MS), 'borrow_until_not_valid'],
      ['past', 'cad', ahead(-MINUTE_MS), 'borrow_until_not_valid'],
      ['long past', 'cad', '1999-12-31', 'borrow_until_not_valid'],
      ['no date', 'cad', 'tomorrow', 'borrow_until_not_valid'],
      ['a day that does not exist', 'cad', '2031-02-30', 'borrow_until_not_valid'],
      ['a license that does not allow borrowing', 'fixed', ahead(HOUR_MS), 'license_borrow_not_allowed'],
      ['a license with 0 hours of borrowing', 'never', ahead(HOUR_MS), 'license_borrow_not_allowed'],
    ];
    for (const [name, product, borrowed_until, code] of refusals) {
      await t.test(name, async () => {
        const { status, body } = await api.borrow({ product, user: 'ada', borrowed_until });
        assert.equal(status, 400);
        assert.equal(body.code, code);
        if (code === 'borrow_until_not_valid') assert.match(String(body.latest_until), /^\d{4}-.*Z$/);
        assert.deepEqual(await api.holders(), []);
      });
    }
    await t.test('the latest date that a refusal names is accepted', async () => {
      const { body } = await api.borrow({
        product: 'ending',
        user: 'ada',
        borrowed_until: ahead(4 * HOUR_MS),
      });
      const again = await api.borrow({ product: 'ending', user: 'ada', borrowed_until: body.latest_until });
      assert.equal(again.body.borrowed_until, body.latest_until);
    });
  });
});

describe('a borrowed slot', () => {
  test('is kept by a heartbeat, moved by another borrow, and returned by unregister', async (t) => {
    const { api } = await startServer(t);
    const target = { product: 'cad', user: 'ada' };
    const [first, later, sooner] = [ahead(DAY_MS), ahead(2 * DAY_MS), ahead(HOUR_MS)];
    await api.borrow({ ...target, borrowed_until: first });
    assert.equal((await api.register(target)).body.borrowed_until, first);
    const held = await api.holder('ada');
    assert.deepEqual([held?.borrowed_until, held?.ends_at], [first, first]);
    for (const until of [later, sooner]) {
      assert.equal((await api.borrow({ ...target, borrowed_until: until })).body.borrowed_until, until);
      assert.equal((await api.holder('ada'))?.ends_at, until);
    }
    const refused = await api.borrow({ ...target, borrowed_until: 'soon' });
    assert.equal(refused.status, 400);
    assert.equal((await api.holder('ada'))?.borrowed_until, sooner, 'a refused borrow moves nothing');
    assert.equal((await api.holders()).length, 1);
    assert.equal((await api.unregister(target)).text, 'user_unregistered');
    assert.deepEqual(await api.holders(), []);
    assert.equal((await api.register(target)).body.borrowed_until, null);
  });

  test('can only be ended by a recall', async (t) => {
    const { api, data } = await startServer(t);
    await api.borrow({ product: 'cad', user: 'ada', borrowed_until: ahead(DAY_MS) });
    await api.register({ product: 'cad', user: 'bob' });
    assert.equal((await runBerth(data, ['registration', 'release', 'ada', '--product', 'cad'])).code, 1);
    assert.equal((await runBerth(data, ['registration', 'recall', 'bob', '--product', 'cad'])).code, 1);
    assert.equal((await api.holders()).length, 2);
    const { code, stdout } = await runBerth(data, ['registration', 'recall', 'ada', '--product', 'cad']);
    assert.equal(code, 0);
    assert.match(stdout, /The slot is free/);
    assert.equal(await api.holder('ada'), undefined);
    const recalled = (await api.eventsAfter(0)).find(({ kind }) => kind === 'slot_recalled');
    assert.equal(recalled?.user, 'ada');
    assert.equal(recalled?.by, 'control');
  });
});

describe('a license that has shrunk below its use', () => {
  test('ends no slot, lends nothing, and borrows nothing until its use fits again', async (t) => {
    const server = await ServerUnderTest.start(t, { isHere: true, licenses: [testLicense(1, { slots: 3 })] });
    const until = ahead(DAY_MS);
    const borrow = async (user: string, borrowed_until = until) =>
      (await server.api.borrow({ product: 'cad', user, borrowed_until })).body.code;
    await borrow('ada');
    for (const user of ['bob', 'cyd']) await server.api.register({ product: 'cad', user });
    await server.stop();
    await seedLicenses(server.data, [testLicense(1, { slots: 2 })]);
    await server.start();
    assert.equal((await server.api.holders()).length, 3, 'nobody is thrown out');
    assert.equal((await server.api.register({ product: 'cad', user: 'bob' })).status, 200, 'holders renew');
    assert.equal(await borrow('bob'), 'floating_not_available', 'no borrow is started');
    assert.equal(await borrow('ada', ahead(2 * DAY_MS)), 'floating_not_available', 'none is extended');
    assert.equal(await borrow('dan'), 'floating_not_available');
    assert.equal((await server.api.holder('ada'))?.borrowed_until, until);
    assert.equal(await borrow('ada', ahead(HOUR_MS)), undefined, 'but one may end sooner');
    await server.api.unregister({ product: 'cad', user: 'cyd' });
    assert.equal(await borrow('bob'), undefined, 'two of two: borrowing works again');
    assert.equal(await borrow('dan'), 'floating_not_available');
  });
});
