import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createGuessLimit } from './guess-limit.ts';
import { LIMITS } from './limits.ts';
import { problem, RequestError } from './problem.ts';
import { text } from './reply.ts';

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
  test('are looked up so often, then one after the other, however many are tried', async () => {
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

  test('of one place keep no other from anything', async () => {
    const { isAdmitted } = createLimit();
    for (let count = 0; count < 100; count++) await isAdmitted('a');
    assert.ok(await isAdmitted('b'));
  });

  test('that were under way at once do not make it wait longer than others', async () => {
    const { limit, isAdmitted, pass } = createLimit();
    const thrown = () => Promise.reject(new RequestError('airgap_code_invalid', 'No.'));
    await Promise.allSettled(Array.from({ length: 1000 }, () => limit('a', thrown)));
    assert.ok(!(await isAdmitted('a')));
    pass(LIMITS.guessEveryMs);
    assert.ok(await isAdmitted('a'));
  });

  test('are not what succeeds, or what is refused for another reason', async () => {
    const { limit, isAdmitted } = createLimit();
    for (let count = 0; count < 100; count++) {
      await limit('a', () => text('license_deactivated'));
      await limit('a', () => problem('license_expired', 'Over.'));
    }
    assert.ok(await isAdmitted('a'));
  });
});
