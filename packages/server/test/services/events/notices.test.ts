import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { openTestLink, openTestStore, readEvents } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { type Cloud, CloudFault } from '../../../src/cloud/cloud.ts';
import { DAY_MS, instant, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import type { License } from '../../../src/core/nouns/license.ts';
import type { GroupAnswer } from '../../../src/core/rules/directory-groups.ts';
import { EMPTY_RULE_SET, NO_NAMES } from '../../../src/core/rules/rule-set.ts';
import { createNotices } from '../../../src/services/events/notices.ts';
import { consume, register, unregister } from '../../core/examples.ts';

const LIMITS = { expiryDays: 14, cloudMinutes: 15, slotsPercent: 90, consumptionPercent: 90 };

/** The real link to a cloud of which only the way there is made up. */
async function openNotices(t: TestContext, licenses: readonly License[] = []) {
  const { store, clock } = await openTestStore(t, licenses);
  let isAway = false;
  const cloud = {
    probe: async () => {
      if (isAway) throw new CloudFault('timeout', 'It is away.', { mayHaveArrived: true });
      return { kind: 'ok', value: null, isBound: false };
    },
  } as unknown as Cloud;
  const { cloudLink, credentials } = openTestLink(store, clock, { cloud });
  await credentials.setKeys({ apiKey: 'a'.repeat(20), sharedKey: 'b'.repeat(20) }, 'test');
  const { readWall } = clock;
  const open = () => createNotices({ store, cloudLink, readWall, ...LIMITS });
  const notices = open();
  const told = async () =>
    (await readEvents(store)).filter(({ kind }) =>
      /^(license|token)_expiring$|^cloud_(un)?reachable$|^groups_|_(nearly_full|used_up|has_room)$/.test(
        kind,
      ),
    );
  return {
    store,
    clock,
    notices,
    open,
    told,
    /** The background asks the cloud. */
    async ask(away: boolean) {
      isAway = away;
      await cloudLink.checkAll().catch(() => {});
    },
  };
}

describe('expiring licenses', () => {
  test('are reported once, in time, whoever checks', async (t) => {
    const { clock, store, notices, open, told } = await openNotices(t);
    const validUntil = plus(clock.readWall(), 20 * DAY_MS);
    const endless = testLicense(2, { product: 'cam' });
    for (const license of [testLicense(1, { validUntil }), endless]) {
      await store.execute({ kind: 'install_license', license, by: 'test' });
    }
    assert.equal(await notices.look(), 0);
    clock.advance(6 * DAY_MS);
    await store.execute({ kind: 'accept_clock', by: 'test' });
    assert.equal(await notices.look(), 1);
    assert.equal(await notices.look(), 0);
    assert.equal(await open().look(), 0);
    assert.deepEqual(await told(), [{ kind: 'license_expiring', licenseId: 1, product: 'cad', validUntil }]);
  });

  test('are reported again when the vendor extends them and they expire again', async (t) => {
    const { clock, store, notices, told } = await openNotices(t);
    const install = (days: number) => {
      const license = testLicense(1, { validUntil: plus(clock.readWall(), days * DAY_MS) });
      return store.execute({ kind: 'install_license', license, by: 'test' });
    };
    for (const days of [3, 300, 10]) {
      await install(days);
      await notices.look();
    }
    assert.equal((await told()).length, 2);
  });
});

describe('expiring tokens', () => {
  test('are reported once, in time, unless they never expire or were revoked', async (t) => {
    const { clock, store, notices, told } = await openNotices(t);
    const create = (name: string, days: number | null) => {
      const token = { tokenHash: `hash of ${name}`, name, role: 'user', days } as const;
      return store.execute({ kind: 'create_token', ...token, by: 'test' });
    };
    await create('ci', 20);
    await create('gone', 20);
    await create('lab', null);
    assert.equal(await notices.look(), 0);
    await store.execute({ kind: 'revoke_token', tokenId: 'gone', by: 'test' });
    const expiresAt = plus(clock.readWall(), 20 * DAY_MS);
    clock.advance(6 * DAY_MS);
    await store.execute({ kind: 'accept_clock', by: 'test' });
    assert.equal(await notices.look(), 1);
    assert.equal(await notices.look(), 0);
    assert.deepEqual(await told(), [
      { kind: 'token_expiring', tokenId: 'hash of ci', name: 'ci', expiresAt },
    ]);
    clock.advance(14 * DAY_MS);
    await store.execute({ kind: 'accept_clock', by: 'test' });
    assert.equal(await notices.look(), 0);
  });

  test('are reported again if another token has the same id', async (t) => {
    const { store, notices } = await openNotices(t);
    const token = { tokenHash: 'h1', name: 'ci', role: 'user', days: 3, by: 'test' } as const;
    for (let time = 0; time < 2; time++) {
      await store.execute({ kind: 'create_token', ...token });
      assert.equal(await notices.look(), 1);
      await store.execute({ kind: 'revoke_token', tokenId: 'ci', by: 'test' });
    }
  });
});

describe('a license that fills up', () => {
  const users = Array.from({ length: 10 }, (_, n) => `user${n}`);

  async function openWith(t: TestContext, facts: Partial<License>) {
    const world = await openNotices(t, [testLicense(1, facts)]);
    const { store } = world;
    return {
      ...world,
      async register(some: readonly string[]) {
        for (const user of some) await store.execute(register(user));
      },
      async unregister(some: readonly string[]) {
        for (const user of some) await store.execute(unregister(user));
      },
    };
  }

  test('is reported once, and again after it had room', async (t) => {
    const { notices, open, told, register, unregister } = await openWith(t, { slots: 10 });
    await register(users.slice(0, 8));
    assert.equal(await notices.look(), 0);
    await register(users.slice(8, 9));
    assert.deepEqual([await notices.look(), await notices.look(), await open().look()], [1, 0, 0]);
    await unregister(users.slice(8, 9));
    assert.equal(await notices.look(), 0, 'eight of ten are not far enough below nine');
    await unregister(users.slice(7, 8));
    assert.deepEqual([await notices.look(), await notices.look()], [1, 0]);
    await register(users);
    assert.equal(await notices.look(), 1);
    const part = { licenseId: 1, product: 'cad', feature: null, slots: 10 };
    assert.deepEqual(await told(), [
      { kind: 'license_nearly_full', ...part, inUse: 9 },
      { kind: 'license_has_room', ...part, inUse: 7 },
      { kind: 'license_nearly_full', ...part, inUse: 10 },
    ]);
  });

  test('is not reported if it has a single slot, or if the notice is off', async (t) => {
    const { notices, register, store, clock } = await openWith(t, { slots: 1 });
    await register(users.slice(0, 1));
    assert.equal(await notices.look(), 0);
    const full = testLicense(2, { slots: 2 });
    await store.execute({ kind: 'install_license', license: full, by: 'test' });
    await register(users.slice(0, 3));
    const { cloudLink } = openTestLink(store, clock, {});
    const { readWall } = clock;
    const off = createNotices({ store, cloudLink, readWall, ...LIMITS, slotsPercent: 0 });
    assert.deepEqual([await off.look(), await notices.look()], [0, 1]);
  });

  test('is reported when its consumption is nearly used up; a new window has room', async (t) => {
    const limits = { ...testLicense(1).consumption, max: 100, unlimited: false, period: 'daily' as const };
    const { store, clock, notices, told } = await openWith(t, { consumption: limits });
    const count = (amount: number) => store.execute(consume(amount));
    await count(89);
    assert.equal(await notices.look(), 0);
    await count(1);
    assert.deepEqual([await notices.look(), await notices.look()], [1, 0]);
    clock.advance(DAY_MS);
    await store.execute({ kind: 'accept_clock', by: 'test' });
    assert.deepEqual([await notices.look(), await notices.look()], [1, 0]);
    assert.deepEqual(
      (await told()).map((event) => [
        event.kind,
        'total' in event && event.total,
        'max' in event && event.max,
      ]),
      [
        ['consumption_nearly_used_up', 90, 100],
        ['consumption_has_room', 0, 100],
      ],
    );
  });
});

describe('an outage of the cloud', () => {
  test('is reported once when it has lasted long enough, and again when it is over', async (t) => {
    const { clock, notices, open, told, ask } = await openNotices(t);
    await ask(false);
    assert.equal(await notices.look(), 0);
    const failingAt = clock.readWall();
    await ask(true);
    clock.advance(15 * MINUTE_MS - 1);
    assert.equal(await notices.look(), 0, 'not yet');
    clock.advance(1);
    await ask(true);
    assert.equal(await notices.look(), 1);
    clock.advance(60 * MINUTE_MS);
    assert.equal(await open().look(), 0, 'told before');
    await ask(false);
    assert.equal(await notices.look(), 1);
    assert.equal(await notices.look(), 0);
    assert.deepEqual(await told(), [
      { kind: 'cloud_unreachable', failingAt, code: 'cloud_unavailable', reason: 'timeout' },
      { kind: 'cloud_reachable', failingAt },
    ]);
  });

  test('that is short is not reported', async (t) => {
    const { clock, notices, told, ask } = await openNotices(t);
    for (let n = 0; n < 5; n++) {
      await ask(true);
      clock.advance(10 * MINUTE_MS);
      await notices.look();
      await ask(false);
      await notices.look();
    }
    assert.deepEqual(await told(), []);
  });
});

test('members of groups that the directory has not told for a day are reported once', async (t) => {
  const { store, clock, notices, told } = await openNotices(t);
  const directory = { dn: 'cn=cad', members: ['ann'] };
  const rules = { ...EMPTY_RULE_SET, groups: { cad: { ...NO_NAMES, directory } } };
  await store.execute({ kind: 'set_rules', text: 'a', rules, by: 'admin' });
  const { now: answeredAt } = await store.keepClock();
  const answer = (one: object) =>
    store.execute({ kind: 'refresh_groups', basedOn: 1, answers: [{ dn: 'cn=cad', ...one } as GroupAnswer] });
  clock.advance(DAY_MS);
  assert.equal(await notices.look(), 0, 'the leader was busy');
  await answer({ problem: 'It is away.' });
  assert.deepEqual([await notices.look(), await notices.look()], [1, 0]);
  await answer({ members: ['ann'] });
  assert.deepEqual([await notices.look(), await notices.look()], [1, 0]);
  assert.deepEqual(await told(), [
    { kind: 'groups_outdated', groups: ['cad'], answeredAt, reason: 'It is away.' },
    { kind: 'groups_up_to_date' },
  ]);
});

test('an outage ends when the cloud is removed from the settings; the next one is reported', async (t) => {
  const { store, clock, notices, told, ask } = await openNotices(t);
  const { cloudLink } = openTestLink(store, clock, {});
  const { readWall } = clock;
  const without = createNotices({ store, cloudLink, readWall, ...LIMITS });
  await ask(true);
  clock.advance(15 * MINUTE_MS);
  assert.deepEqual([await notices.look(), await without.look(), await without.look()], [1, 1, 0]);
  assert.equal(await notices.look(), 1);
  const events = (await told()).map((event) => [event.kind, 'reason' in event ? event.reason : null]);
  assert.deepEqual(events, [
    ['cloud_unreachable', 'timeout'],
    ['cloud_reachable', 'not_configured'],
    ['cloud_unreachable', 'timeout'],
  ]);
});

test('without a cloud nothing is reported', async (t) => {
  const { store, clock } = await openTestStore(t, []);
  const { cloudLink } = openTestLink(store, clock, {});
  const readWall = () => instant(clock.readWall() + DAY_MS);
  const notices = createNotices({ store, cloudLink, readWall, ...LIMITS });
  assert.equal(await notices.look(), 0);
});
