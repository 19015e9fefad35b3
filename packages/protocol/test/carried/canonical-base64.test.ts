import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decodeBase64, decodeBase64Text, encodeBase64 } from '../../src/carried/canonical-base64.ts';

describe('base64 in its canonical form', () => {
  test('is what was encoded', () => {
    for (let length = 0; length < 70; length++) {
      const bytes = Buffer.from(Array.from({ length }, (_, index) => (index * 89 + length) & 0xff));
      assert.deepEqual(decodeBase64(encodeBase64(bytes)), bytes);
    }
    assert.equal(decodeBase64Text(encodeBase64('Zürich ⚓')), 'Zürich ⚓');
    assert.equal(decodeBase64Text(''), '');
  });

  for (const [what, text] of [
    ['without its padding', 'YQ'],
    ['with half of its padding', 'YQ='],
    ['with too much padding', 'YWI=='],
    ['with padding in the middle', 'YQ==YQ=='],
    ['with unused bits that are set', 'YR=='],
    ['the same for two bytes', 'YWJ='],
    ['with a blank', 'Y Q='],
    ['with a line end inside', 'YWJj\nYWJj'],
    ['with a line end after it', 'YWJj\n'],
    ['of the alphabet for URLs', 'a-_z'],
    ['with another letter', 'YW*j'],
    ['with a look-alike letter', 'YWЈj'],
  ] as const) {
    test(`${what} it is refused`, () => {
      assert.equal(decodeBase64(text), null);
      assert.equal(decodeBase64Text(text), null);
    });
  }

  test('every byte has one text: only the last letters that encoding produces are accepted', () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
    const texts = [...letters].flatMap((first) => [...letters].map((second) => `${first}${second}==`));
    assert.equal(texts.filter((text) => decodeBase64(text) !== null).length, 256);
  });

  for (const [what, bytes] of [
    ['a lone byte of two', [0xc3]],
    ['an overlong encoding', [0xc0, 0x80]],
    ['half of a pair', [0xed, 0xa0, 0x80]],
    ['beyond the last code point', [0xf4, 0x90, 0x80, 0x80]],
  ] as const) {
    test(`text that is not UTF-8 is refused: ${what}`, () => {
      assert.equal(decodeBase64Text(encodeBase64(Uint8Array.from(bytes))), null);
    });
  }
});
