import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RequestError } from '@berth/protocol/request-error';
import { text } from '@berth/web/reply';
import { createGuessLimit } from '../../../src/http/limits/guess-limit.ts';
import { LIMITS } from '../../../src/http/limits/limits.ts';
import { problem, type Reply } from '../../../src/http/reply.ts';

function createLimit() {
  let nowMs = 1_000_000;
  const limit = createGuessLimit(() => nowMs);
  const wrong = async () => problem('license_not_found', 'No.');
  const isAdmitted = (who: string, work = wrong) =>
    limit(who, work).then(
      () => true,
      (error: RequestError) => error.code !== 'too_many_requests',
    );
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { limit, isAdmitted, pass };
}

describe('wrong guesses', () => {
  test('are checked up to a limit, then one at a time, however many are tried', async () => {
    const { isAdmitted, pass } = createLimit();
    for (let count = 0; count < LIMITS.guesses; count++) assert.ok(await isAdmitted('a'));
    for (let count = 0; count < 100; count++) assert.ok(!(await isAdmitted('a')));
    pass(LIMITS.guessEveryMs);
    assert.ok(await isAdmitted('a'));
    assert.ok(!(await isAdmitted('a')));
    pass(LIMITS.guesses * LIMITS.guessEveryMs);
    for (let count = 0; count < LIMITS.guesses; count++) assert.ok(await isAdmitted('a'));
    assert.ok(!(await isAdmitted('a')));
  });

  test('from one place do not affect other places', async () => {
    const { isAdmitted } = createLimit();
    for (let count = 0; count < 100; count++) await isAdmitted('a');
    assert.ok(await isAdmitted('b'));
  });

  test('sent at once do not wait longer than others', async () => {
    const { limit, isAdmitted, pass } = createLimit();
    const thrown = () => Promise.reject(new RequestError('airgap_code_invalid', 'No.'));
    await Promise.allSettled(Array.from({ length: 1000 }, () => limit('a', thrown)));
    assert.ok(!(await isAdmitted('a')));
    pass(LIMITS.guessEveryMs);
    assert.ok(await isAdmitted('a'));
  });

  test('under way are limited by the bucket, and the rest is never checked', async () => {
    const { limit } = createLimit();
    let looked = 0;
    const guess = async () => {
      looked += 1;
      await new Promise(setImmediate);
      return problem('license_not_found', 'No.');
    };
    await Promise.allSettled(Array.from({ length: 200 }, () => limit('a', guess)));
    assert.equal(looked, LIMITS.guesses);
  });

  test('wait their turn: concurrent right ones are all served, and bounded', async () => {
    const { limit, isAdmitted } = createLimit();
    const right = async () => {
      await new Promise(setImmediate);
      return text('license_deactivated');
    };
    const most = LIMITS.guesses + LIMITS.guessesWaiting;
    const all = await Promise.allSettled(Array.from({ length: most + 5 }, () => limit('a', right)));
    assert.equal(all.filter(({ status }) => status === 'fulfilled').length, most);
    assert.ok(await isAdmitted('a'));
  });

  test('that are held back leave the rest of the bucket to others of their place', async () => {
    const { limit, isAdmitted } = createLimit();
    const held: (() => void)[] = [];
    const hold = () =>
      new Promise<Reply>((resolve) => held.push(() => resolve(problem('license_not_found', 'No.'))));
    const waiting = Array.from({ length: LIMITS.guesses - 1 }, () => limit('a', hold));
    assert.ok(await isAdmitted('a'));
    const late = isAdmitted('a');
    for (const end of held) end();
    await Promise.all(waiting);
    assert.ok(!(await late), 'all of them were wrong');
  });

  test('do not include successes, or refusals for another reason', async () => {
    const { limit, isAdmitted } = createLimit();
    for (let count = 0; count < 100; count++) {
      await limit('a', () => text('license_deactivated'));
      await limit('a', () => problem('license_expired', 'Over.'));
    }
    assert.ok(await isAdmitted('a'));
  });
});
