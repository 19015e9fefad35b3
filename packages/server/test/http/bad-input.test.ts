import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { HTTP_LIMITS } from '@berth/web/limits';
import { openTestApp, readTraces } from '../../../../test/support/test-app.ts';

interface Refusal {
  readonly status: number;
  readonly code: string;
}

const INVALID_JSON: Refusal = { status: 400, code: 'invalid_json' };
const VALIDATION: Refusal = { status: 400, code: 'validation_error' };
const TOO_LARGE: Refusal = { status: 413, code: 'payload_too_large' };

function nested(depth: number): string {
  return `{"user":"ann","x":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
}

const PIECE = new Uint8Array(16 * 1024).fill(32);

/** A body in chunks, without a declared length. */
function stream(bytes: number): ReadableStream<Uint8Array> {
  const pieces = Array.from({ length: Math.ceil(bytes / PIECE.length) }, () => PIECE);
  return ReadableStream.from(pieces);
}

const UNREADABLE: Readonly<Record<string, readonly [unknown, Refusal]>> = {
  'a declared body of 64 KiB and a byte': [' '.repeat(HTTP_LIMITS.bodyBytes + 1), TOO_LARGE],
  '60,000 opened brackets': ['['.repeat(60_000), VALIDATION],
  '100,000 opened brackets': ['['.repeat(100_000), TOO_LARGE],
  '12,000 nested objects': ['{"a":'.repeat(12_000), VALIDATION],
  '33 levels': [nested(33), VALIDATION],
  'bytes that are not UTF-8': [
    Uint8Array.of(0x7b, 0x22, 0x75, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d),
    INVALID_JSON,
  ],
  'half a character': [Buffer.from('{"user":"é"}').subarray(0, 10), INVALID_JSON],
  'half an object': ['{"user":"ann"', INVALID_JSON],
  'single quotes': ["{'user':'ann'}", INVALID_JSON],
  'a trailing comma': ['{"user":"ann",}', INVALID_JSON],
  'a form': ['user=ann&product=cad', INVALID_JSON],
  'an unescaped line break in a text': ['{"user":"a\nb"}', INVALID_JSON],
  NaN: ['{"license_id":NaN}', INVALID_JSON],
  'two objects': ['{"user":"ann"}{"user":"bob"}', INVALID_JSON],
  'an array': ['[{"user":"ann"}]', VALIDATION],
  'a text': ['"ann"', VALIDATION],
  'a number': ['1', VALIDATION],
  null: ['null', VALIDATION],
  true: ['true', VALIDATION],
  'the key __proto__': ['{"user":"ann","__proto__":{"product":"cad"}}', VALIDATION],
  'the key __proto__ in other letters': ['{"user":"ann","__PROTO__":{}}', VALIDATION],
  'the key __proto__ with an escape': ['{"user":"ann","\\u005f_proto__":1}', VALIDATION],
  'the key constructor': ['{"user":"ann","constructor":{"prototype":{"x":1}}}', VALIDATION],
  'the key prototype deep inside': ['{"user":"ann","x":[{"prototype":1}]}', VALIDATION],
  'one key in two spellings': ['{"user":"ann","User":"bob"}', VALIDATION],
  'one key twice': ['{"user":"ann","user":"ann"}', VALIDATION],
  'one key twice deep inside': ['{"user":"ann","x":[{"a":1,"a":2}]}', VALIDATION],
};

describe('a body that cannot be read is refused, and nothing is stored', () => {
  for (const [what, [body, expected]] of Object.entries(UNREADABLE)) {
    test(what, async (t) => {
      const { post, store } = await openTestApp(t);
      const before = await readTraces(store);
      const length = typeof body === 'string' ? { 'content-length': String(body.length) } : undefined;
      for (const headers of [{}, ...(length === undefined ? [] : [length])]) {
        const answer = await post('/api/v4/register', body, { headers });
        assert.equal(answer.status, expected.status, answer.text);
        assert.equal(answer.body.status, expected.status);
        assert.equal(answer.body.code, expected.code);
      }
      assert.deepEqual(await readTraces(store), before);
    });
  }

  test('a body without a declared length', async (t) => {
    const { post, store } = await openTestApp(t);
    const before = await readTraces(store);
    const answer = await post('/api/v4/register', stream(HTTP_LIMITS.bodyBytes + 1));
    assert.equal(answer.status, 413);
    assert.equal(answer.body.code, 'payload_too_large');
    assert.deepEqual(await readTraces(store), before);
  });

  test('an endless body: the answer does not wait for it', async (t) => {
    const { post } = await openTestApp(t);
    const answered = Promise.withResolvers<void>();
    const read = { bytes: 0 };
    const body = new ReadableStream({
      async pull(controller) {
        if (read.bytes > 2 * HTTP_LIMITS.discardBytes) return controller.close();
        if (read.bytes > HTTP_LIMITS.discardBytes) await answered.promise;
        read.bytes += PIECE.length;
        controller.enqueue(PIECE);
      },
    });
    assert.equal((await post('/api/v4/register', body)).status, 413);
    assert.ok(read.bytes > HTTP_LIMITS.discardBytes);
    answered.resolve();
  });
});

/** What may be said of a body that is not JSON. */
const FOREIGN: readonly Readonly<Record<string, string>>[] = [
  { 'content-type': 'application/x-www-form-urlencoded' },
  { 'content-type': 'multipart/form-data; boundary=x' },
  { 'content-type': 'application/xml' },
  { 'content-type': 'application/json; charset="UTF-16"' },
  { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  { 'content-encoding': 'br, identity' },
];

/** What says nothing about a body, or that it is JSON. */
const FAMILIAR: readonly Readonly<Record<string, string>>[] = [
  {},
  { 'content-type': '' },
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/octet-stream' },
  { 'content-type': 'Application/JSON ; Charset=utf-8', 'content-encoding': 'identity' },
  { 'content-type': 'application/vnd.api+json' },
];

describe('a body in a format that the server does not read', () => {
  const gzipped = gzipSync('{"user":"ann"}');

  test('is refused as such, if its headers say so', async (t) => {
    const { post } = await openTestApp(t);
    for (const headers of FOREIGN) {
      for (const body of ['user=ann', gzipped]) {
        const { status, body: told } = await post('/api/v4/register', body, { headers });
        assert.deepEqual([status, told.code], [415, 'unsupported_media_type'], JSON.stringify(headers));
      }
    }
    for (const headers of FAMILIAR) {
      const { body: told } = await post('/api/v4/register', gzipped, { headers });
      assert.equal(told.code, 'invalid_json', JSON.stringify(headers));
    }
  });

  test('is read if it is JSON after all, because clients say anything', async (t) => {
    const { post } = await openTestApp(t);
    for (const headers of [...FOREIGN, ...FAMILIAR]) {
      const { status, text } = await post('/api/v4/register', '{"user":"ann"}', { headers });
      assert.equal(status, 200, text);
      const empty = await post('/api/v4/register', '', { headers });
      assert.equal(empty.body.code, 'missing_parameters');
    }
  });
});

describe('the largest that can be read', () => {
  test('a body of exactly 64 KiB, declared or not', async (t) => {
    const { post } = await openTestApp(t);
    const body = '{"user":"ann"}'.padEnd(HTTP_LIMITS.bodyBytes);
    for (const headers of [{}, { 'content-length': String(body.length) }]) {
      assert.equal((await post('/api/v4/register', body, { headers })).status, 200);
    }
  });

  test('32 levels, and any number of brackets inside a text', async (t) => {
    const { post } = await openTestApp(t);
    assert.equal((await post('/api/v4/register', nested(32))).status, 200);
    const body = { user: 'ann', x: '[{'.repeat(20_000) };
    assert.equal((await post('/api/v4/register', body)).status, 200);
  });
});

const UNUSABLE: Readonly<Record<string, object>> = {
  'a user of 257 characters': { user: 'u'.repeat(257) },
  'a product of 257 characters': { product: 'p'.repeat(257) },
  'a host name of 257 characters': { os_hostname: 'h'.repeat(257) },
  'an address of 257 characters': { ip_local: '1'.repeat(257) },
  'a user_info of 4097 characters': { user_info: 'i'.repeat(4097) },
  'a line break in user': { user: 'an\nn' },
  'a null character in user': { user: 'ann\u0000' },
  'a C1 control character in user': { user: 'an\u0085n' },
  'an escape character in product': { product: 'c\u001b[2Jad' },
  'half a surrogate pair in user': { user: 'a\ud800' },
  'half a surrogate pair in product': { product: '\udc00' },
  'a user that is a number': { user: 7 },
  'a user that is an object': { user: { name: 'ann' } },
  'a product that is a list': { product: ['cad'] },
  'a user_info that is a flag': { user_info: true },
  'the license id -1': { license_id: -1 },
  'the license id 1.5': { license_id: 1.5 },
  'the license id 2^53': { license_id: 2 ** 53 },
  'the license id "9007199254740992"': { license_id: '9007199254740992' },
  'the license id "1.0"': { license_id: '1.0' },
  'the license id "1e3"': { license_id: '1e3' },
  'the license id "0x1"': { license_id: '0x1' },
  'the license id "abc"': { license_id: 'abc' },
  'the license id true': { license_id: true },
  'the license id false': { license_id: false },
  'the license id [1]': { license_id: [1] },
};

describe('a field that cannot be used is named, and nothing is stored', () => {
  for (const [what, fields] of Object.entries(UNUSABLE)) {
    test(what, async (t) => {
      const { post, store } = await openTestApp(t);
      const before = await readTraces(store);
      for (const operation of ['register', 'borrow']) {
        const { status, body } = await post(`/api/v4/${operation}`, { user: 'ann', ...fields });
        assert.equal(status, 400);
        assert.equal(body.code, 'validation_error');
        const [field] = Object.keys(fields);
        assert.equal(body.field, field);
        assert.match(body.message as string, new RegExp(`^"${field}" must (be|not) .+\\.$`));
      }
      assert.deepEqual(await readTraces(store), before);
    });
  }

  test('a date that is not even a text is unreadable', async (t) => {
    const { post, get } = await openTestApp(t);
    for (const borrowed_until of [1_900_000_000, true, {}, ['2030-01-17']]) {
      const { body } = await post('/api/v4/borrow', { user: 'ann', borrowed_until });
      assert.equal(body.code, 'borrow_until_not_valid');
      assert.match(String(body.latest_until), /Z$/);
    }
    assert.deepEqual((await get('/api/admin/registrations')).body.registrations, []);
  });

  test('a query parameter that is given twice', async (t) => {
    const { get } = await openTestApp(t);
    const paths = [
      '/api/v4/license?product=cad&product=cam',
      '/api/v4/licenses?product=cad&sdk=1&sdk=1',
      '/api/admin/registrations?user=a&%75ser=b',
      '/api/admin/audit?limit=1&limit=1',
    ];
    for (const path of paths) {
      const { status, body } = await get(path);
      assert.equal(status, 400);
      assert.equal(body.code, 'validation_error');
      assert.match(body.message as string, /is given twice/);
    }
  });
});

describe('descriptive text is cleaned instead', () => {
  test('control characters become spaces, halves of surrogate pairs the replacement character', async (t) => {
    const { post, store } = await openTestApp(t);
    const body = { user: 'ann', os_hostname: 'a\nb', ip_local: '1\u001b2', user_info: 'x\u0000y\ud800z' };
    assert.equal((await post('/api/v4/register', body)).status, 200);
    const [record] = (await readTraces(store)).registrations;
    const expected = { hostname: 'a b', address: '1 2', info: 'x y\ufffdz' };
    assert.deepEqual(record?.registration.host, expected);
  });

  test('even if a host name stands for the user', async (t) => {
    const { post, store } = await openTestApp(t);
    assert.equal((await post('/api/v4/register', { os_hostname: 'a\u001bb' })).status, 200);
    assert.equal((await readTraces(store)).registrations[0]?.registration.user, 'a b');
  });
});
