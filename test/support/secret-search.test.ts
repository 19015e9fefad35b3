import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { findForms, formsOf } from './secret-search.ts';

const SECRET = `a/b+c&d="é\\ ${randomBytes(6).toString('hex')}?>`;

/** The text in the middle of random bytes. */
function plant(text: string): Buffer {
  return Buffer.concat([randomBytes(1000), Buffer.from(text), randomBytes(1000)]);
}

const PLANTED: Readonly<Record<string, string>> = {
  raw: SECRET,
  hex: Buffer.from(SECRET).toString('hex'),
  'upper-case hex': Buffer.from(SECRET).toString('hex').toUpperCase(),
  'URL-encoded': `?apiKey=${encodeURIComponent(SECRET)}&x=1`,
  'URL-encoded in lower case': encodeURIComponent(SECRET).replace(/%../g, (code) => code.toLowerCase()),
  'form-encoded': `${new URLSearchParams({ apiKey: SECRET, x: '1' })}`,
  'JSON-escaped': JSON.stringify({ key: SECRET }),
  'JSON-escaped with slashes': JSON.stringify({ key: SECRET }).replaceAll('/', '\\/'),
  'JSON-escaped to ASCII': JSON.stringify({ key: SECRET }).replaceAll('é', '\\u00e9'),
};

describe('a secret that was planted is found', () => {
  for (const [form, text] of Object.entries(PLANTED)) {
    test(form, () => assert.ok(findForms(plant(text), SECRET).includes(form)));
  }

  for (const encoding of ['base64', 'base64url'] as const) {
    test(`${encoding}, wherever it is and whatever surrounds it`, () => {
      for (let before = 0; before < 9; before++) {
        for (let behind = 0; behind < 4; behind++) {
          const around = [randomBytes(before), Buffer.from(SECRET), randomBytes(behind)];
          const found = findForms(plant(Buffer.concat(around).toString(encoding)), SECRET);
          assert.ok(found.includes(`${encoding} at ${before % 3}`), `${before} before, ${behind} behind`);
        }
      }
    });
  }
});

test('binary data is searched too', () => {
  const key = randomBytes(32);
  assert.deepEqual(findForms(Buffer.concat([randomBytes(9), key, randomBytes(9)]), key), ['raw']);
  assert.ok(findForms(plant(key.toString('hex')), key).includes('hex'));
  assert.ok(findForms(plant(key.toString('base64url')), key).includes('base64url at 0'));
});

test('none is found where nothing was planted', () => {
  for (const { form, bytes } of formsOf(SECRET)) assert.ok(bytes.length >= 16, form);
  assert.deepEqual(findForms(randomBytes(100_000), SECRET), []);
});
