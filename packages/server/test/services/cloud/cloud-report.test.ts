import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { openTestApp, openTestLink, openTestStore } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { type Cloud, CloudFault } from '../../../src/cloud/cloud.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import { consume } from '../../core/examples.ts';

const ID = licenseId(1);

describe('consumption while nothing can be reported', () => {
  const CLOUDS = { cloud_not_configured: null, cloud_keys_missing: {} as Cloud };

  for (const [code, cloud] of Object.entries(CLOUDS)) {
    test(`stays pending, and is in no unsent report: ${code}`, async (t) => {
      const license = testLicense(1, { source: 'cloud' });
      const app = await openTestApp(t, { licenses: [license], ...(cloud === null ? {} : { cloud }) });
      assert.equal((await app.post('/api/v4/add_consumption', { consumptions: 3 })).status, 200);
      const before = await app.cloudLink.listBacklog();
      assert.equal(before[0]?.pending, 3);
      await assert.rejects(app.cloudLink.sync(null), { code });
      const wish = { product: null, licenseId: ID, licenseKey: null };
      await assert.rejects(app.cloudLink.remove(wish, false, 'test'), { code });
      assert.deepEqual(await app.cloudLink.listBacklog(), before);
    });
  }
});

/** How a report fares: it is lost on its way, or its answer is, or neither. */
type Fate = 'lost' | 'unheard' | 'heard';

/** A cloud that counts a report as often as it comes, as those do that take no note of ids. */
function createForgetfulCloud() {
  const license = testLicense(1, { source: 'cloud' });
  const state = { total: 0, fate: 'heard' as Fate };
  const fail = (mayHaveArrived: boolean) => new CloudFault('broken_off', 'It broke.', { mayHaveArrived });
  const cloud = {
    async check() {
      const { tie: _, source: __, ...facts } = license;
      const counted = { total: state.total, features: [] };
      return {
        kind: 'ok',
        value: { license: facts, isFloating: true, counted, certificates: [] },
        isBound: false,
      };
    },
    async report(_: unknown, __: unknown, { amount }: { amount: number }) {
      if (amount > 0 && state.fate === 'lost') throw fail(false);
      state.total += amount;
      if (amount > 0 && state.fate === 'unheard') throw fail(true);
      return { kind: 'ok', value: { total: state.total, knowsReportIds: false }, isBound: false };
    },
  } as unknown as Cloud;
  return { license, state, cloud };
}

describe('several servers, and a cloud that would count a report twice', () => {
  const SETTLE_MS = 30_000;

  async function openTwo(t: TestContext) {
    const { license, state, cloud } = createForgetfulCloud();
    const { store, clock } = await openTestStore(t, [license]);
    const leadership = { leader: 'one' };
    const serve = (name: string) => {
      const own = { ...store, isLeader: () => leadership.leader === name };
      return openTestLink(own, clock, { cloud, settleMs: SETTLE_MS });
    };
    const [one, two] = [serve('one'), serve('two')];
    await one.credentials.setKeys({ apiKey: 'one', sharedKey: 'two' }, 'test');
    await one.cloudLink.checkAll();
    const count = (amount: number) => store.execute(consume(amount));
    const lead = (name: 'one' | 'two') => {
      leadership.leader = name;
      ({ one, two })[name].cloudLink.takeOver();
    };
    return { state, clock, one: one.cloudLink, two: two.cloudLink, count, lead };
  }

  test('a report left under way is settled by the next leader, and counted once', async (t) => {
    const { state, clock, one, two, count, lead } = await openTwo(t);
    await count(3);
    state.fate = 'lost';
    await one.reportAll().catch(() => {});
    assert.equal((await one.listBacklog())[0]?.underWay?.amount, 3);

    lead('two');
    await two.reportAll();
    assert.equal(state.total, 0, 'it may still be on its way');
    clock.advance(SETTLE_MS);
    state.fate = 'unheard';
    await two.reportAll().catch(() => {});
    assert.equal(state.total, 3);

    lead('one');
    state.fate = 'heard';
    await one.reportAll();
    clock.advance(SETTLE_MS);
    await one.reportAll();
    assert.equal(state.total, 3, 'that it was lost the first time counts no more');
    assert.equal((await one.listBacklog())[0]?.underWay ?? null, null);
  });

  test('one that does not lead reports only what it has cut itself', async (t) => {
    const { state, clock, one, two, count } = await openTwo(t);
    await count(3);
    state.fate = 'lost';
    await one.reportAll().catch(() => {});
    state.fate = 'heard';
    for (let round = 0; round < 3; round++) {
      clock.advance(SETTLE_MS);
      assert.equal((await two.sync(ID))[0]?.untold.underWay, 3);
    }
    assert.equal(state.total, 0);
    await one.reportAll();
    assert.equal(state.total, 3);
    await count(4);
    assert.equal((await two.sync(ID))[0]?.untold.pending, 0);
    assert.equal(state.total, 7);
  });
});
