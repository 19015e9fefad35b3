import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { dateFile, judgeRepeat, judgeServerKey, type ServerKeyFacts } from '../../src/core/judge-request.ts';
import { isRefusal } from '../../src/core/refusal.ts';

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
  const tofu = { key: 'old', isConfirmed: false };
  const confirmed = { key: 'old', isConfirmed: true };
  const facts: ServerKeyFacts = {
    hardwareId: 'm',
    asks: 'activation',
    claimed: 'old',
    known: tofu,
    isVouched: false,
    hasLicense: true,
    isSigned: true,
  };

  for (const [change, verdict, why] of [
    [{}, 'keep', 'what it signed for itself'],
    [{ isSigned: null }, 'keep', 'another license for a machine that is known'],
    [{ isSigned: false }, 'wait', 'what came over the network or by codes'],
    [{ isSigned: false, known: confirmed }, 'keep', 'the vendor approved it for all of them'],
    [{ claimed: 'new' }, 'signature_mismatch', 'somebody else'],
    [{ claimed: 'new', asks: 'usage' }, 'usage_file_invalid', 'somebody else'],
    [{ claimed: 'new', isSigned: null }, 'wait', 'the known key may be the one that was planted'],
    [{ claimed: 'new', isSigned: null, known: confirmed }, 'signature_mismatch', 'somebody else'],
    [{ claimed: 'new', isSigned: false, known: confirmed }, 'signature_mismatch', 'somebody else'],
    [{ claimed: 'new', isSigned: false }, 'wait', 'one of both is the server that has the license'],
    [{ claimed: 'new', hasLicense: false, isSigned: null }, 'wait', 'given back: the id stays taken'],
    [{ claimed: 'new', isVouched: true }, 'learn', 'the keys for the cloud vouch'],
    [{ isVouched: true }, 'learn', 'and confirm what was only learned'],
    [{ isVouched: true, known: confirmed }, 'keep', 'once'],
    [{ claimed: null, isVouched: true }, 'keep', 'no key is named'],
    [{ known: null, hasLicense: false, isSigned: null }, 'learn', 'a new machine'],
    [{ known: null, isSigned: null }, 'wait', 'a machine that has a license, without a key'],
    [{ known: null, isSigned: false }, 'wait', 'a machine that has this one, without a key'],
    [{ known: null, isSigned: false, asks: 'deactivation' }, 'wait', 'giving it back'],
    [{ known: null, isSigned: false, asks: 'usage' }, 'wait', 'counting'],
    [{ known: null, hasLicense: false, isSigned: null, asks: 'usage' }, 'wait', 'never but by an activation'],
  ] as const) {
    test(`${JSON.stringify(change)}: ${verdict}, ${why}`, () => {
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
