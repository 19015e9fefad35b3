import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { keyedHash } from '../../../../src/store/engine/audit/keyed-hash.ts';

type Parts = Parameters<typeof keyedHash>[1];

function expectedOf(key: Uint8Array, parts: Parts): string {
  const hmac = createHmac('sha256', key);
  for (const part of parts) hmac.update(part);
  return hmac.digest('hex');
}

function check(key: Uint8Array, parts: Parts): void {
  assert.equal(Buffer.from(keyedHash(key, parts)).toString('hex'), expectedOf(key, parts));
}

test('it is the HMAC of RFC 4231', () => {
  const mac = keyedHash(Buffer.from('Jefe'), ['what do ya want ', Buffer.from('for nothing?')]);
  const expected = '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843';
  assert.equal(Buffer.from(mac).toString('hex'), expected);
});

test('it is that of createHmac for every length of key and text, whatever was computed before', () => {
  for (const length of [0, 1, 31, 32, 63, 64, 65, 200]) {
    const key = randomBytes(length);
    for (const size of [0, 1, 55, 56, 63, 64, 65, 1000, 21_800, 21_850, 65_535, 200_000]) {
      check(key, ['head\n', randomBytes(size % 40), '\n', 'x'.repeat(size)]);
      check(key, [randomBytes(size)]);
    }
  }
});

test('texts are UTF-8, also where they are no proper text', () => {
  const key = randomBytes(32);
  for (const text of ['é', '漢字', '🦊', '\ud83e', 'a\udd8ab', '\u0000', '漢'.repeat(21_800)])
    check(key, [text, 'end']);
});
