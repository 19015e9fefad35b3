import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RequestError } from '@berth/protocol/request-error';
import { createSignInThrottle } from '../../../src/services/access/sign-in-throttle.ts';

/** A throttle on a clock of its own. */
function openThrottle() {
  let nowMs = 0;
  const throttle = createSignInThrottle(() => nowMs);
  const guess = (account: string, address: string, isRight: boolean): 'tried' | number => {
    try {
      throttle.begin(account, address).end(isRight);
      return 'tried';
    } catch (error) {
      assert.ok(error instanceof RequestError && error.code === 'too_many_requests');
      return error.details.retryAfterSeconds as number;
    }
  };
  return {
    throttle,
    guess,
    advance: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe('wrong passwords', () => {
  test('cost nothing five times, then a wait that doubles up to five minutes', () => {
    const { guess, advance } = openThrottle();
    for (let n = 0; n < 5; n++) assert.equal(guess('ada', 'x', false), 'tried');
    const waits: number[] = [];
    for (let n = 0; n < 11; n++) {
      const wait = guess('ada', 'x', false) as number;
      waits.push(wait);
      advance(wait * 1000 - 1);
      assert.equal(guess('ada', 'x', true), 1, 'a right one has to wait, too');
      advance(1);
      assert.equal(guess('ada', 'x', false), 'tried');
    }
    assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  });

  test('of fifty failures slow down that account from that address and nobody else', () => {
    const { guess, advance } = openThrottle();
    for (let n = 0; n < 50; n++) {
      while (guess('ada', 'x', false) !== 'tried') advance(1000);
    }
    assert.equal(guess('ada', 'x', true), 300);
    assert.equal(guess('ada', 'y', true), 'tried', 'the same account from elsewhere');
    assert.equal(guess('bob', 'x', true), 'tried', 'another account from there');
    assert.equal(guess('bob', 'y', true), 'tried');
  });

  test('for any accounts slow an address down in the end, but not another one', () => {
    const { guess, advance } = openThrottle();
    for (let n = 0; n < 100; n++) assert.equal(guess(`user-${n}`, 'x', false), 'tried');
    assert.equal(guess('user-100', 'x', false), 1);
    assert.equal(guess('user-100', 'y', false), 'tried');
    advance(1000);
    assert.equal(guess('user-100', 'x', false), 'tried');
    assert.equal(guess('user-101', 'x', false), 1);
  });

  test('are forgotten after a right one, and after an hour', () => {
    const { guess, advance } = openThrottle();
    for (let n = 0; n < 4; n++) guess('ada', 'x', false);
    guess('ada', 'x', true);
    for (let n = 0; n < 5; n++) assert.equal(guess('ada', 'x', false), 'tried');
    assert.equal(guess('ada', 'x', false), 1);
    advance(60 * 60 * 1000);
    assert.equal(guess('ada', 'x', false), 'tried');
  });

  test('are checked one at a time once there were too many', () => {
    const { throttle, guess, advance } = openThrottle();
    for (let n = 0; n < 5; n++) guess('ada', 'x', false);
    advance(1000);
    const open = throttle.begin('ada', 'x');
    assert.throws(() => throttle.begin('ada', 'x'), RequestError);
    open.end(false);
    assert.throws(() => throttle.begin('ada', 'x'), RequestError);
  });

  test('that were never checked are not counted', () => {
    const { throttle, guess } = openThrottle();
    for (let n = 0; n < 20; n++) throttle.begin('ada', 'x').end('unknown');
    assert.equal(guess('ada', 'x', true), 'tried');
  });

  test('do not include a fleet that signs in with one right password at once', () => {
    const { throttle } = openThrottle();
    for (let n = 0; n < 50; n++) {
      const attempts = Array.from({ length: 8 }, () => throttle.begin('fleet', 'nat'));
      assert.throws(() => throttle.begin('fleet', 'nat'), RequestError, 'eight at once, then the next ones');
      for (const attempt of attempts) attempt.end(true);
    }
  });

  test('are remembered, whatever else is requested meanwhile', () => {
    const { guess } = openThrottle();
    for (let n = 0; n < 100; n++) guess('ada', 'x', false);
    for (let n = 0; n < 100; n++) guess(`made-up-${n}`, 'x', false);
    for (let n = 0; n < 30_000; n++) assert.notEqual(guess(`another-${n}`, 'x', false), 'tried');
    assert.notEqual(guess('ada', 'x', true), 'tried');
  });

  test('from one network of IPv6 come from one place', () => {
    const { guess } = openThrottle();
    for (let n = 0; n < 5; n++) assert.equal(guess('ada', `2001:db8::${n}`, false), 'tried');
    assert.equal(guess('ada', '2001:db8::ffff', true), 1);
    assert.equal(guess('ada', '2001:db8:0:1::1', true), 'tried');
  });
});
