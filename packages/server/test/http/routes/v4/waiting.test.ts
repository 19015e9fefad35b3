import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  FOREIGN,
  openTestApp,
  type SendOptions,
  type TestAnswer,
} from '../../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../../test/support/test-license.ts';
import { SECOND_MS } from '../../../../src/core/nouns/instant.ts';
import { readPreferences } from '../../../../src/http/routes/v4/lending.ts';
import { exampleFeature } from '../../../core/examples.ts';

const REGISTER = '/api/v4/register';
const NODE: SendOptions = { isLeftToNode: true };

function secondsOf({ body, headers }: TestAnswer): unknown[] {
  return [body.code, headers.get('retry-after')];
}

/** An app whose licenses 1 and 2 of different products have one slot each, which Ann holds. */
async function openFull(t: Parameters<typeof openTestApp>[0]) {
  const features = [exampleFeature('render')];
  const licenses = [testLicense(1, { slots: 1 }), testLicense(2, { product: 'cam', slots: 3, features })];
  const app = await openTestApp(t, { licenses });
  await app.post(REGISTER, { product: 'cad', user: 'ann' });
  for (const user of ['ann', 'ben', 'cyd']) await app.post(REGISTER, { product: 'cam', user });
  for (const user of ['ann', 'ben'])
    await app.post('/api/v4/featureRegister', { product: 'cam', feature: 'render', user });
  return app;
}

describe('a denial that waiting may end', () => {
  test('says when to ask again: later if many ask, and soon again if they stay away', async (t) => {
    const { post, clock } = await openFull(t);
    const ask = async (user: string) => secondsOf(await post(REGISTER, { product: 'cad', user }));
    const full = 'floating_not_available';
    assert.deepEqual(await ask('bob'), [full, '1']);
    for (let n = 1; n < 100; n++) await ask(`user-${n}`);
    assert.deepEqual(await ask('bob'), [full, '6']);
    clock.advance(3 * SECOND_MS);
    assert.deepEqual(await ask('bob'), [full, '3']);
    clock.advance(3 * SECOND_MS);
    assert.deepEqual(await ask('bob'), [full, '1']);
  });

  test('says so for each license and feature by itself, and whatever is asked for', async (t) => {
    const { post } = await openFull(t);
    const cam = { product: 'cam', user: 'dan' };
    const ask = async (path: string, body: object) => secondsOf(await post(`/api/v4/${path}`, body));
    const expect = (seconds: number) => ['floating_not_available', String(seconds)];
    for (let n = 0; n < 30; n++) await ask('register', cam);
    assert.deepEqual(await ask('borrow', cam), expect(2));
    assert.deepEqual(await ask('register', { product: 'cad', user: 'dan' }), expect(1));
    const feature = { ...cam, user: 'cyd', feature: 'render' };
    assert.deepEqual(await ask('featureRegister', feature), expect(1));
    for (let n = 0; n < 30; n++) await ask('featureRegister', feature);
    assert.deepEqual(await ask('featureRegister', feature), expect(2));
  });

  test('also if the address has its share', async (t) => {
    const { post } = await openTestApp(t);
    const text = 'products: { cad: { limit: [{ slots: 2, each: address }], borrow: { perAddress: 0 } } }';
    assert.equal((await post('/api/admin/rules/apply', { text })).status, 200);
    const ask = (path: string, user: string) => post(path, { user }, { peer: FOREIGN });
    assert.deepEqual(secondsOf(await ask(REGISTER, 'ann')), [undefined, null]);
    assert.deepEqual(secondsOf(await ask('/api/v4/borrow', 'bob')), ['address_limit_reached', '1']);
    assert.deepEqual(secondsOf(await ask(REGISTER, 'bob')), [undefined, null]);
    assert.deepEqual(secondsOf(await ask(REGISTER, 'eve')), ['floating_not_available', '1']);
  });

  test('is the same with and without the fast lane, and otherwise like every refusal', async (t) => {
    const [lane, node] = await Promise.all([openFull(t), openFull(t)]);
    for (let n = 0; n < 25; n++) {
      const body = { product: 'cad', user: `user-${n}` };
      const [one, other] = await Promise.all([lane.post(REGISTER, body), node.post(REGISTER, body, NODE)]);
      assert.equal(one.text, other.text);
      assert.deepEqual(one.headers.get('retry-after'), n < 20 ? '1' : '2');
      assert.equal(other.headers.get('retry-after'), one.headers.get('retry-after'));
      assert.deepEqual(Object.keys(one.body), [
        'status',
        'code',
        'message',
        'slots',
        'in_use',
        'next_free_at',
      ]);
    }
  });

  test('can be read by the pages that may use the server', async (t) => {
    const origin = 'http://app.example:3000';
    const app = await openTestApp(t, { licenses: [testLicense(1, { slots: 1 })], allowedOrigins: [origin] });
    await app.post(REGISTER, { user: 'ann' });
    const { headers } = await app.post(REGISTER, { user: 'bob' }, { headers: { origin } });
    assert.equal(headers.get('retry-after'), '1');
    assert.equal(headers.get('access-control-expose-headers'), 'Retry-After');
  });
});

test('no other answer says when to ask again', async (t) => {
  const licenses = [testLicense(1), testLicense(2, { product: 'off', enabled: false })];
  const { post } = await openTestApp(t, { licenses });
  for (const body of [{ product: 'cad' }, { product: 'off' }, { product: 'none' }]) {
    const { headers } = await post(REGISTER, { ...body, user: 'ann' });
    assert.equal(headers.get('retry-after'), null);
  }
  const { headers } = await post('/api/v4/unregister', { product: 'cad', user: 'bob' });
  assert.equal(headers.get('retry-after'), null);
});

test('a client may wait for a whole number of seconds, and for 50 at most', () => {
  const secondsFor = (prefer: string) => {
    const { patience } = readPreferences({ headers: new Headers({ prefer }) } as never);
    return patience === undefined ? null : patience.forMs / SECOND_MS;
  };
  for (const [prefer, seconds] of Object.entries({
    ...{ 'wait=1': 1, 'Wait = "30"': 30, 'respond-async, wait=007': 7, 'wait=5, wait=10': 5 },
    ...{ 'wait=51': 50, [`wait=${'9'.repeat(400)}`]: 50 },
    ...{ 'wait=0': null, 'wait=-1': null, 'wait=1.5': null, 'wait=1e9': null, 'wait=': null, wait: null },
  })) {
    assert.equal(secondsFor(prefer), seconds, prefer);
  }
});
