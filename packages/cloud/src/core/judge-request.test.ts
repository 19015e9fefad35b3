import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { dateFile, judgeRepeat, judgeServerKey, type ServerKeyFacts } from './judge-request.ts';
import { isRefusal } from './refusal.ts';

function verdictOf(result: unknown): unknown {
  return isRefusal(result) ? result.code : result;
}

describe('a request that was seen before', () => {
  const asked = { digest: 'a', licenseId: 1 };

  test('is a repeat only if everything is the same', () => {
    assert.equal(judgeRepeat(null, asked), 'new');
    assert.equal(judgeRepeat({ digest: 'a', licenseId: 1 }, asked), 'repeat');
    assert.equal(verdictOf(judgeRepeat({ digest: 'b', licenseId: 1 }, asked)), 'offline_request_used');
    assert.equal(verdictOf(judgeRepeat({ digest: 'a', licenseId: 2 }, asked)), 'offline_request_used');
  });
});

describe('the key of a server', () => {
  const facts: ServerKeyFacts = {
    hardwareId: 'm',
    claimed: 'new',
    known: 'old',
    isVouched: false,
    hasLicense: true,
  };

  for (const [change, verdict] of [
    [{}, 'signature_mismatch'],
    [{ isVouched: true }, 'learn'],
    [{ hasLicense: false }, 'learn'],
    [{ known: null }, 'learn'],
    [{ known: 'new' }, 'keep'],
    [{ claimed: null, isVouched: true }, 'keep'],
    [{ claimed: null, known: null }, 'keep'],
  ] as const) {
    test(`${JSON.stringify(change)}: ${verdict}`, () => {
      assert.equal(verdictOf(judgeServerKey({ ...facts, ...change })), verdict);
    });
  }
});

test('a file is dated now, and always later than the one before', () => {
  assert.equal(dateFile(0, 1000), 1000);
  assert.equal(dateFile(999, 1000), 1000);
  assert.equal(dateFile(1000, 1000), 1001);
  assert.equal(dateFile(5000, 1000), 5001);
});
