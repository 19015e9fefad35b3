import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  CONTROL,
  FOREIGN,
  openTestApp,
  readEvents,
  readTraces,
  type SendOptions,
  type TestApp,
} from '../../../../../../test/support/test-app.ts';

const PATH = '/api/v4/setKeys';
const API = 'api+key/1&2=%';
const SHARED = 'geteilter Schlüssel?#';

function inUrl(fields: Readonly<Record<string, string>>): string {
  return `${PATH}?${new URLSearchParams(fields)}`;
}

/** Both methods, with the same fields. */
const WAYS: Readonly<Record<string, (app: TestApp, fields: Readonly<Record<string, string>>) => SendResult>> =
  {
    GET: (app, fields) => app.get(inUrl(fields)),
    POST: (app, fields) => app.post(PATH, fields),
  };
type SendResult = ReturnType<TestApp['get']>;

for (const [method, send] of Object.entries(WAYS)) {
  describe(`${method} setKeys`, () => {
    test('with both, then one, then the other', async (t) => {
      const app = await openTestApp(t);
      const first = await send(app, { apiKey: API, sharedKey: SHARED });
      assert.equal(first.status, 200);
      const { api_key_fingerprint, shared_key_fingerprint, ...rest } = first.body;
      assert.deepEqual(rest, { changed: ['api_key', 'shared_key'] });
      assert.match(api_key_fingerprint as string, /^[0-9a-f]{8}$/);
      assert.match(shared_key_fingerprint as string, /^[0-9a-f]{8}$/);
      assert.notEqual(api_key_fingerprint, shared_key_fingerprint);
      assert.deepEqual(await app.credentials.readKeys(), { apiKey: API, sharedKey: SHARED });
      const second = await send(app, { apiKey: 'other' });
      assert.deepEqual(second.body.changed, ['api_key']);
      assert.equal(second.body.shared_key_fingerprint, shared_key_fingerprint);
      assert.notEqual(second.body.api_key_fingerprint, api_key_fingerprint);
      await send(app, { sharedKey: 'another' });
      assert.deepEqual(await app.credentials.readKeys(), { apiKey: 'other', sharedKey: 'another' });
      assert.equal(first.headers.get('cache-control'), 'no-store');
      assert.equal(first.headers.get('referrer-policy'), 'no-referrer');
    });

    test('with one alone on a fresh server says that the other is not set', async (t) => {
      const app = await openTestApp(t);
      const { body } = await send(app, { sharedKey: SHARED });
      assert.equal(body.api_key_fingerprint, null);
      assert.deepEqual(body.changed, ['shared_key']);
    });

    test('with nothing, or only blanks, is refused as incomplete', async (t) => {
      const app = await openTestApp(t);
      const blanks = [{}, { apiKey: '' }, { apiKey: ' ', sharedKey: '\t' }, { other: 'x' }];
      for (const fields of blanks as Record<string, string>[]) {
        const { status, body } = await send(app, fields);
        assert.deepEqual([status, body.code], [400, 'missing_parameters'], JSON.stringify(fields));
      }
      assert.deepEqual(await app.credentials.readKeys(), { apiKey: null, sharedKey: null });
    });

    test('with an invalid value is refused, and shows it nowhere', async (t) => {
      const app = await openTestApp(t, { logRequests: true });
      const long = 'planted'.repeat(100);
      const values = [long.slice(0, 513), 'planted\u0000', 'pla\nnted', 'planted\u0085', 'planted\ufffd'];
      for (const value of values) {
        for (const name of ['apiKey', 'sharedKey']) {
          const { status, body, text } = await send(app, { apiKey: 'fine', [name]: value });
          assert.deepEqual([status, body.code], [400, 'validation_error'], JSON.stringify(value));
          assert.match(text, /apiKey|sharedKey|api_key|shared_key/);
          assert.doesNotMatch(text, /planted|fine/);
        }
      }
      assert.equal((await send(app, { apiKey: long.slice(0, 512) })).status, 200);
      assert.doesNotMatch(JSON.stringify(app.log), /planted/);
    });

    test('twice at once leaves the pair of one of them', async (t) => {
      const app = await openTestApp(t);
      await Promise.all(['x', 'y'].map((key) => send(app, { apiKey: key, sharedKey: key })));
      const { apiKey, sharedKey } = await app.credentials.readKeys();
      assert.equal(apiKey, sharedKey);
    });

    test('shows no key in its answer, its log or the audit', async (t) => {
      const app = await openTestApp(t, { logRequests: true, slowRequestMs: 1 });
      const { text } = await send(app, { apiKey: 'planted-a', sharedKey: 'planted-b' });
      const shown = [text, app.log, await readTraces(app.store), (await app.get('/api/admin/status')).text];
      assert.doesNotMatch(JSON.stringify(shown), /planted/);
      const [event] = (await readEvents(app.store)).filter(({ kind }) => kind === 'cloud_keys_set');
      assert.deepEqual(event?.kind === 'cloud_keys_set' && [event.changed, event.by], [
        ['api_key', 'shared_key'],
        'local',
      ]);
    });

    test('is for administrators', async (t) => {
      const app = await openTestApp(t);
      const visits: readonly SendOptions[] = [
        { peer: FOREIGN },
        { headers: { 'x-forwarded-for': '10.0.0.1' } },
        { headers: { authorization: 'Bearer planted-token-0123' } },
      ];
      for (const visit of visits) {
        const fields = { apiKey: 'a', sharedKey: 'b' };
        const answer =
          method === 'GET' ? await app.get(inUrl(fields), visit) : await app.post(PATH, fields, visit);
        assert.equal(answer.status, 401);
      }
      assert.deepEqual(await app.credentials.readKeys(), { apiKey: null, sharedKey: null });
      assert.equal((await app.post(PATH, { apiKey: 'a' }, { peer: CONTROL })).status, 200);
    });
  });
}

describe('GET setKeys', () => {
  test('refuses a parameter that is given twice', async (t) => {
    const app = await openTestApp(t);
    for (const query of ['apiKey=planted&apiKey=planted', 'apiKey=a&sharedKey=planted&sharedKey=b']) {
      const { status, body, text } = await app.get(`${PATH}?${query}`);
      assert.deepEqual([status, body.code], [400, 'validation_error']);
      assert.doesNotMatch(text, /planted/);
    }
    assert.deepEqual(await app.credentials.readKeys(), { apiKey: null, sharedKey: null });
  });

  test('refuses what is not text', async (t) => {
    const app = await openTestApp(t);
    assert.equal((await app.get(`${PATH}?apiKey=a%ffb`)).body.code, 'validation_error');
  });

  test('can be turned off, and then the POST remains', async (t) => {
    const app = await openTestApp(t, { allowKeysInUrl: false });
    const { status, body, text } = await app.get(inUrl({ apiKey: 'planted' }));
    assert.deepEqual([status, body.code], [400, 'keys_in_url_not_allowed']);
    assert.match(body.message as string, /POST/);
    assert.doesNotMatch(text, /planted/);
    assert.equal((await app.get(PATH)).body.code, 'missing_parameters');
    assert.deepEqual(await app.credentials.readKeys(), { apiKey: null, sharedKey: null });
    assert.equal((await app.post(PATH, { apiKey: 'a' })).status, 200);
  });
});

describe('POST setKeys', () => {
  test('accepts its fields in any spelling, and the documented name counts', async (t) => {
    const app = await openTestApp(t);
    for (const [api, shared] of [
      ['apiKey', 'sharedKey'],
      ['APIKEY', 'sharedkey'],
      ['ApiKey', 'SharedKey'],
      ['api_key', 'shared_key'],
      ['Api_Key', 'SHARED_KEY'],
    ] as const) {
      const { status } = await app.post(PATH, { [api]: `value of ${api}`, [shared]: shared });
      assert.equal(status, 200);
      assert.deepEqual(await app.credentials.readKeys(), { apiKey: `value of ${api}`, sharedKey: shared });
    }
    await app.post(PATH, { apiKey: 'other', api_key: 'documented' });
    assert.equal((await app.credentials.readKeys()).apiKey, 'documented');
    const { body: answer, text } = await app.post(PATH, { apiKey: 'planted', APIKEY: 'b' });
    assert.equal(answer.code, 'validation_error');
    assert.doesNotMatch(text, /planted/);
  });

  test('takes nothing from its URL', async (t) => {
    const app = await openTestApp(t);
    assert.equal((await app.send('POST', inUrl({ apiKey: 'x' }))).body.code, 'missing_parameters');
    await app.send('POST', inUrl({ apiKey: 'x' }), { body: { sharedKey: 'y' } });
    assert.deepEqual(await app.credentials.readKeys(), { apiKey: null, sharedKey: 'y' });
  });

  test('refuses what is not text; null means nothing', async (t) => {
    const app = await openTestApp(t);
    for (const value of [7, true, ['planted'], { a: 'planted' }, '\ud800']) {
      const { body, text } = await app.post(PATH, { apiKey: value });
      assert.equal(body.code, 'validation_error');
      assert.doesNotMatch(text, /planted/);
    }
    assert.equal((await app.post(PATH, { apiKey: null })).body.code, 'missing_parameters');
    assert.equal((await app.post(PATH, '{"apiKey":"planted"')).body.code, 'invalid_json');
  });
});

test('a failing store shows no key in the answer and none in the log', async (t) => {
  const app = await openTestApp(t, { logRequests: true });
  app.store.execute = () => Promise.reject(new Error('the writer broke'));
  for (const send of Object.values(WAYS)) {
    const { status, text } = await send(app, { apiKey: 'planted', sharedKey: 'planted' });
    assert.equal(status, 500);
    assert.doesNotMatch(text, /planted/);
  }
  const bugs = app.log.filter(({ msg }) => msg === 'bug');
  assert.equal(bugs.length, 2);
  assert.doesNotMatch(JSON.stringify(app.log), /planted/);
});
