import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { z } from 'zod';
import {
  hostText,
  licenseId,
  MAX_NAME_LENGTH,
  MAX_SECRET_LENGTH,
  MAX_USER_INFO_LENGTH,
  name,
  positiveInteger,
  secret,
  userInfo,
  userName,
} from '../src/fields.ts';

const LONE_SURROGATE = '\ud800';

function refusal(schema: z.ZodType, value: unknown): string {
  const result = schema.safeParse(value);
  assert.equal(result.success, false, `${JSON.stringify(value)} was accepted`);
  return result.error?.issues[0]?.message ?? '';
}

describe('missing fields', () => {
  for (const [title, schema] of Object.entries({ name, hostText, userInfo, licenseId, secret })) {
    test(`${title}: missing, null and blank text are the same`, () => {
      for (const value of [undefined, null, '', '  ', '\t\n']) assert.equal(schema.parse(value), undefined);
    });
  }
});

describe('a secret', () => {
  test('is kept as it was sent', () => {
    for (const value of ['k', ' k ', 'a+b/c==', 'ключ', 'k'.repeat(MAX_SECRET_LENGTH)]) {
      assert.equal(secret.parse(value), value);
    }
  });

  test('is refused without being shown', () => {
    const marked = 'planted';
    const bad = [
      `${marked}\u0000`,
      `${marked}\n`,
      `${marked}\u0085`,
      marked + LONE_SURROGATE,
      `${marked}\ufffd`,
      marked.repeat(MAX_SECRET_LENGTH),
      [marked],
      { [marked]: marked },
    ];
    for (const value of bad) assert.doesNotMatch(refusal(secret, value), /planted/);
  });
});

describe('a name', () => {
  test('is kept as it was sent', () => {
    for (const value of [
      'ada',
      ' Ada ',
      'Zoë',
      'Zoe\u0308',
      '用户',
      'a'.repeat(MAX_NAME_LENGTH),
      '😀',
      '0',
    ]) {
      assert.equal(name.parse(value), value);
    }
  });

  test('is not longer than its bound', () => {
    assert.match(refusal(name, 'a'.repeat(MAX_NAME_LENGTH + 1)), /^must not be longer than 256 characters$/);
  });

  test('contains no control character and no half of a character', () => {
    for (const value of ['a\0b', 'a\nb', 'a\u007fb', 'a\u0085b', `a${LONE_SURROGATE}`]) {
      assert.equal(refusal(name, value), 'must not contain control characters');
    }
  });

  test('is text', () => {
    for (const value of [1, true, {}, ['ada']]) assert.equal(refusal(name, value), 'must be text');
  });
});

describe('a description', () => {
  test('is cleaned instead of refused', () => {
    assert.equal(hostText.parse('pc\r\n1'), 'pc  1');
    assert.equal(userInfo.parse(`a\0b${LONE_SURROGATE}`), 'a b\ufffd');
  });

  test('has a maximum length', () => {
    assert.equal(userInfo.parse('x'.repeat(MAX_USER_INFO_LENGTH))?.length, MAX_USER_INFO_LENGTH);
    assert.match(refusal(userInfo, 'x'.repeat(MAX_USER_INFO_LENGTH + 1)), /longer than 4096/);
    assert.match(refusal(hostText, 'x'.repeat(MAX_NAME_LENGTH + 1)), /longer than 256/);
    assert.equal(refusal(hostText, 5), 'must be text');
  });
});

describe('a license id', () => {
  test('is a positive whole number, or its digits', () => {
    for (const [value, id] of [
      [1, 1],
      ['1', 1],
      ['0042', 42],
      [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
      [String(Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER],
    ]) {
      assert.equal(licenseId.parse(value), id);
    }
  });

  for (const value of [-1, '-1', 1.5, '1.5', '1e3', '0x10', 'seven', ' 7', true, [], {}, 2 ** 53]) {
    test(`is not ${JSON.stringify(value)}`, () => assert.match(refusal(licenseId, value), /^must be /));
  }

  test('that is 0 means none, as a number or as digits', () => {
    for (const value of [0, -0, '0', '00', '-0']) assert.equal(licenseId.parse(value), undefined);
    assert.match(refusal(positiveInteger, 0), /^must be a positive/);
  });

  test('is not rounded to one that is near', () => {
    assert.match(refusal(licenseId, '9007199254740993'), /^must be /);
    assert.match(refusal(licenseId, '12345678901234567890'), /^must be /);
  });
});

describe('the name of a user', () => {
  test('is bounded in its stored form, NFC', () => {
    assert.match(refusal(userName, '\uFB2C'.repeat(MAX_NAME_LENGTH)), /longer than 256/);
    assert.equal(userName.parse('e\u0301'.repeat(200)), '\u00e9'.repeat(200));
  });
});
