import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { JsonTextError, MAX_JSON_DEPTH, parseJsonObject, parseJsonText } from '../src/json-text.ts';

function codeOf(parse: () => unknown): string {
  try {
    parse();
    return 'accepted';
  } catch (error) {
    assert.ok(error instanceof JsonTextError, String(error));
    assert.match(error.message, /^The .+\.$/);
    return error.code;
  }
}

function nest(depth: number, open = '[', close = ']'): string {
  return open.repeat(depth) + close.repeat(depth);
}

describe('nesting', () => {
  test('is accepted up to the limit', () => {
    assert.equal(
      codeOf(() => parseJsonText(nest(MAX_JSON_DEPTH))),
      'accepted',
    );
    const objects = `${'{"a":'.repeat(MAX_JSON_DEPTH)}1${'}'.repeat(MAX_JSON_DEPTH)}`;
    assert.equal(
      codeOf(() => parseJsonText(objects)),
      'accepted',
    );
  });

  test('is refused one level deeper, mixed or not', () => {
    assert.equal(
      codeOf(() => parseJsonText(nest(MAX_JSON_DEPTH + 1))),
      'validation_error',
    );
    const mixed = `${'[{"a":'.repeat(17)}1${'}]'.repeat(17)}`;
    assert.equal(
      codeOf(() => parseJsonText(mixed)),
      'validation_error',
    );
  });

  test('does not count siblings', () => {
    assert.equal(
      codeOf(() => parseJsonText(`[${'[],'.repeat(10_000)}[]]`)),
      'accepted',
    );
  });

  test('of sixty thousand brackets is refused before anything recurses', () => {
    for (const text of [
      nest(60_000),
      '['.repeat(60_000),
      nest(60_000, '{"a":', '}'),
      nest(60_000, ']', '['),
    ]) {
      assert.match(
        codeOf(() => parseJsonText(text)),
        /^(?:validation_error|invalid_json)$/,
      );
    }
  });

  test('in strings does not count', () => {
    const value = { text: nest(60_000), [nest(100)]: '"]}' };
    assert.deepEqual(parseJsonText(JSON.stringify(value)), value);
  });
});

describe('keys', () => {
  const refused: [string, string][] = [
    ['the same key twice', '{"a":1,"a":1}'],
    ['the same key twice, nested', '{"b":[{"a":1,"a":2}]}'],
    ['the same key in two escapes', String.raw`{"a":1,"\u0061":2}`],
    ['__proto__', '{"__proto__":{"admin":true}}'],
    ['__proto__ in disguise', String.raw`{"\u005f_proto__":1}`],
    ['__proto__ further in', '{"a":[{"__proto__":1}]}'],
    ['constructor', '{"constructor":1}'],
    ['prototype', '{"a":{"prototype":1}}'],
  ];
  for (const [title, text] of refused) {
    test(`refused: ${title}`, () =>
      assert.equal(
        codeOf(() => parseJsonText(text)),
        'validation_error',
      ));
  }

  test('may repeat in different objects', () => {
    assert.deepEqual(parseJsonText('{"a":{"a":1},"b":[{"a":2},{"a":3}]}'), {
      a: { a: 1 },
      b: [{ a: 2 }, { a: 3 }],
    });
  });

  test('are distinguished from text with colons, quotes and braces', () => {
    const value = { 'a:b': 'c:d', '{"x":1}': '"k":"v"', back: '\\', end: '\\"', both: '\\\\":{' };
    assert.deepEqual(parseJsonText(JSON.stringify(value)), value);
  });
});

describe('what is not JSON', () => {
  for (const text of [
    '{',
    '{"a"}',
    '{"a":1:2}',
    "{'a':1}",
    '{"a":1,}',
    'nope',
    '"open',
    '{"a":"\\"}',
    '[1',
  ]) {
    test(`refused: ${text}`, () =>
      assert.equal(
        codeOf(() => parseJsonObject(text)),
        'invalid_json',
      ));
  }
});

describe('a request body', () => {
  test('that is empty or blank is an empty object', () => {
    for (const text of ['', ' ', '\r\n\t']) assert.deepEqual(parseJsonObject(text), {});
  });

  for (const text of ['[]', '[{"a":1}]', 'null', '1', 'true', '"text"']) {
    test(`must be an object, not ${text}`, () => {
      assert.equal(
        codeOf(() => parseJsonObject(text)),
        'validation_error',
      );
    });
  }

  test('has its keys in lower case, its values as they are', () => {
    assert.deepEqual(parseJsonObject('{"Product":"CAD","license_ID":7,"in":{"Deep":1}}'), {
      product: 'CAD',
      license_id: 7,
      in: { Deep: 1 },
    });
  });

  test('must not spell one key in two ways, whatever the values', () => {
    assert.equal(
      codeOf(() => parseJsonObject('{"user":"a","User":"a"}')),
      'validation_error',
    );
    assert.equal(
      codeOf(() => parseJsonObject('{"user":null,"USER":null}')),
      'validation_error',
    );
  });

  for (const key of ['__PROTO__', 'Constructor', 'PROTOTYPE']) {
    test(`must not hold ${key} in any spelling`, () => {
      assert.equal(
        codeOf(() => parseJsonObject(`{"${key}":1}`)),
        'validation_error',
      );
    });
  }

  test('may contain keys that every object inherits', () => {
    assert.deepEqual(parseJsonObject('{"toString":1,"hasOwnProperty":2}'), {
      tostring: 1,
      hasownproperty: 2,
    });
  });
});
