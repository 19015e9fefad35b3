import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { CONTROL, FOREIGN, LOCAL, openTestApp, START } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/core/nouns/instant.ts';
import { exampleFeature } from '../../core/examples.ts';

const LICENSE = testLicense(1, {
  slots: 100,
  timeoutMinutes: 600,
  maxBorrowHours: 48,
  features: [
    {
      ...exampleFeature('render'),
      floating: { slots: 50, timeoutMinutes: 600, maxBorrowHours: 48, canBorrow: true },
    },
  ],
});

async function openLimited(t: TestContext, newSlotsPerHour: number) {
  const { post, clock } = await openTestApp(t, { licenses: [LICENSE], limits: { newSlotsPerHour } });
  /** A status, and for a refusal its code and the seconds to wait. Requests are a second apart. */
  const ask = async (path: string, body: object, peer = FOREIGN) => {
    clock.advance(SECOND_MS);
    const answer = await post(`/api/v4/${path}`, body, { peer });
    if (answer.status === 200) return 200;
    return [answer.body.code, Number(answer.headers.get('retry-after'))];
  };
  return { ask, post, clock };
}

describe('the limit of new slots', () => {
  test('ends with the hour, and the answer says when', async (t) => {
    const { ask, clock } = await openLimited(t, 3);
    for (let n = 0; n < 3; n++) {
      assert.equal(await ask('register', { user: `user-${n}` }), 200);
      assert.equal(await ask('unregister', { user: `user-${n}` }), 200);
    }
    assert.deepEqual(await ask('register', { user: 'ann' }), ['address_limit_reached', 3594]);
    clock.advance(30 * MINUTE_MS);
    assert.deepEqual(await ask('register', { user: 'ann' }), ['address_limit_reached', 1793]);
    clock.advance(1792 * SECOND_MS);
    for (const user of ['ann', 'bob', 'cid']) assert.equal(await ask('register', { user }), 200);
    assert.deepEqual(await ask('register', { user: 'dan' }), ['address_limit_reached', 3597]);
  });

  test('never limits renewals and returns', async (t) => {
    const { ask } = await openLimited(t, 2);
    const render = { user: 'ann', feature: 'render' };
    assert.equal(await ask('register', { user: 'ann' }), 200);
    assert.equal(await ask('featureRegister', render), 200);
    assert.deepEqual(await ask('register', { user: 'bob' }), ['address_limit_reached', 3598]);
    for (let n = 0; n < 5; n++) {
      assert.equal(await ask('register', { user: 'ann' }), 200);
      assert.equal(await ask('register', { user: 'ann', os_hostname: `host-${n}` }), 200);
      assert.equal(await ask('featureRegister', render), 200);
    }
    assert.equal(await ask('featureRelease', render), 200);
    assert.equal(await ask('unregister', { user: 'ann' }), 200);
  });

  test('counts features and every borrow, which are recorded as well', async (t) => {
    const { ask } = await openLimited(t, 4);
    const render = { user: 'ann', feature: 'render' };
    const refused = async (path: string, body: object) => {
      const [code] = (await ask(path, body)) as [string];
      assert.equal(code, 'address_limit_reached', path);
    };
    assert.equal(await ask('borrow', { user: 'ann' }), 200);
    assert.equal(await ask('borrow', { user: 'ann' }), 200);
    assert.equal(await ask('featureRegister', render), 200);
    const borrowedUntil = new Date(START + HOUR_MS).toISOString();
    assert.equal(await ask('featureRelease', render), 200);
    assert.equal(await ask('featureRegister', render), 200);
    await refused('borrow', { user: 'ann' });
    await refused('featureRegister', { ...render, borrowed_until: borrowedUntil });
    assert.equal(await ask('featureRegister', render), 200, 'a heartbeat');
    assert.equal(await ask('featureRelease', render), 200);
    await refused('featureRegister', render);
  });

  test('holds for each address, and not for the command line', async (t) => {
    const { ask } = await openLimited(t, 1);
    assert.equal(await ask('register', { user: 'ann' }), 200);
    assert.notEqual(await ask('register', { user: 'bob' }), 200);
    assert.equal(await ask('register', { user: 'bob' }, LOCAL), 200);
    for (const user of ['cid', 'dan']) assert.equal(await ask('register', { user }, CONTROL), 200);
  });

  test('is not exceeded by many requests at once, and renewals among them cost nothing', async (t) => {
    const { post, ask, clock } = await openLimited(t, 10);
    assert.equal(await ask('register', { user: 'ann' }), 200);
    clock.advance(SECOND_MS);
    const send = (user: string) => post('/api/v4/register', { user }, { peer: FOREIGN });
    const users = Array.from({ length: 30 }, (_, n) => `user-${n}`);
    const answers = await Promise.all([...users.map(send), ...users.map(() => send('ann'))]);
    const lent = answers.slice(0, 30).filter(({ status }) => status === 200);
    assert.equal(lent.length, 9);
    assert.ok(answers.slice(30).every(({ status }) => status === 200));
    assert.notEqual(await ask('register', { user: 'zoe' }), 200);
    clock.advance(HOUR_MS);
    assert.equal(await ask('register', { user: 'zoe' }), 200);
  });

  test('may be off', async (t) => {
    const { ask } = await openLimited(t, 0);
    for (let n = 0; n < 5; n++) assert.equal(await ask('register', { user: `user-${n}` }), 200);
  });
});
