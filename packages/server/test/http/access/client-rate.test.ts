import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RequestError } from '@berth/protocol/request-error';
import { CONTROL, FOREIGN, LOCAL, openTestApp } from '../../../../../test/support/test-app.ts';
import { LIMITS } from '../../../src/config.ts';
import { createClientRate } from '../../../src/http/access/client-rate.ts';

function openRate(clientRequestsPerMinute: number) {
  let nowMs = 5000;
  const admit = createClientRate({
    settings: { current: { http: { clientRequestsPerMinute } } },
    readMonotonicMs: () => nowMs,
  });
  /** Seconds to wait; 0: the request is allowed. */
  const ask = (address = 'a', isControl = false): number => {
    try {
      admit({ address, isControl });
      return 0;
    } catch (error) {
      assert.ok(error instanceof RequestError);
      assert.equal(error.code, 'too_many_requests');
      return error.retryAfterSeconds;
    }
  };
  return {
    ask,
    pass: (millis: number) => {
      nowMs += millis;
    },
  };
}

describe('the requests of an address', () => {
  test('may all come at the start of a minute, and then at the allowed rate', () => {
    const { ask, pass } = openRate(3);
    assert.deepEqual([ask(), ask(), ask()], [0, 0, 0]);
    assert.equal(ask(), 20);
    pass(19_000);
    assert.equal(ask(), 1);
    pass(1000);
    assert.deepEqual([ask(), ask()], [0, 20]);
    pass(60_000);
    assert.deepEqual([ask(), ask(), ask(), ask()], [0, 0, 0, 20]);
  });

  test('are accepted after the announced seconds, and a refused one costs nothing', () => {
    for (const perMinute of [1, 7, 13, 59, 60, 61, 997]) {
      const { ask, pass } = openRate(perMinute);
      for (let round = 0; round < 200; round++) {
        while (ask() === 0) pass(0.1);
        const seconds = ask();
        assert.equal(ask(), seconds);
        assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60, String(seconds));
        pass(seconds * 1000);
        assert.equal(ask(), 0, `${perMinute} a minute`);
      }
    }
  });

  test('are counted separately from those of others', () => {
    const { ask } = openRate(1);
    assert.equal(ask('a'), 0);
    assert.ok(ask('a') > 0);
    assert.equal(ask('b'), 0);
  });

  test('are not limited by 0, nor for the command line', () => {
    const off = openRate(0);
    const on = openRate(1);
    for (let i = 0; i < 100; i++) assert.equal(off.ask() + on.ask('control', true), 0);
  });

  test('are forgotten when there are too many addresses, idle ones first', () => {
    const { ask } = openRate(2);
    ask('silent');
    ask('silent');
    ask('loud');
    for (let i = 0; i < LIMITS.countedAddresses - 2; i++) ask(`other-${i}`);
    ask('loud');
    ask('one more');
    assert.equal(ask('silent'), 0);
    assert.ok(ask('loud') > 0);
  });
});

describe('a limit of requests', () => {
  test('refuses with a correct Retry-After, per address, before anything is stored', async (t) => {
    const { post, store, clock } = await openTestApp(t, { clientRequestsPerMinute: 2 });
    const register = (user: string, peer = FOREIGN) => post('/api/v4/register', { user }, { peer });
    assert.equal((await register('ann')).status, 200);
    assert.equal((await register('bob')).status, 200);
    const execute = t.mock.method(store, 'execute');
    const refused = await register('cid');
    assert.equal(refused.status, 429);
    assert.equal(refused.body.code, 'too_many_requests');
    assert.equal(refused.headers.get('retry-after'), '30');
    assert.equal(execute.mock.callCount(), 0);
    assert.equal((await register('dan', LOCAL)).status, 200);
    clock.advance(30_000);
    assert.equal((await register('cid')).status, 200);
  });

  test('applies only to applications', async (t) => {
    const { get, post } = await openTestApp(t, { clientRequestsPerMinute: 1 });
    for (let i = 0; i < 3; i++) {
      assert.equal((await get('/api/v4/health')).status, 200);
      assert.equal((await get('/api/admin/status')).status, 200);
      const body = { user: `u${i}` };
      assert.equal((await post('/api/v4/register', body, { peer: CONTROL })).status, 200);
    }
  });
});
