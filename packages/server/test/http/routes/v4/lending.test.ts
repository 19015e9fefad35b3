import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { borrowAnswer, registerAnswer } from '@berth/protocol/api/lending';
import {
  findWrongField,
  PRODUCT_FIELDS,
  REGISTER_FIELDS,
} from '../../../../../../test/conformance/wire-fields.ts';
import { openTestApp, readEvents, readTraces, START } from '../../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../../test/support/test-license.ts';
import { DEMO_LICENSE } from '../../../../src/core/nouns/demo-license.ts';
import { HOUR_MS, instant, MINUTE_MS, plus } from '../../../../src/core/nouns/instant.ts';

function assertWholeAnswer(body: Readonly<Record<string, unknown>>): void {
  assert.equal(findWrongField(body, REGISTER_FIELDS), null);
  registerAnswer.strict().parse(body);
  const { license_json, ...license } = body;
  assert.deepEqual(JSON.parse(license_json as string), license);
  const details = body.product_details as object;
  assert.deepEqual(Object.keys(details), PRODUCT_FIELDS);
}

describe('the answer to register', () => {
  test('is the license, as an object and as a text, with every field that clients read', async (t) => {
    const validUntil = instant(Date.UTC(2031, 5, 1));
    const dates = { startsAt: instant(Date.UTC(2029, 0, 1)), validUntil, type: 'time-limited' } as const;
    const { post } = await openTestApp(t, { licenses: [testLicense(7, dates)] });
    const { status, headers, body } = await post('/api/v4/register', { product: 'cad', user: 'ann' });
    assert.equal(status, 200);
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
    assertWholeAnswer(body);
    assert.equal(body.id, 7);
    assert.equal(body.license_id, 7);
    assert.equal(body.product, 'cad');
    assert.equal(body.validity_period, '2031-06-01T00:00:00.000Z');
    assert.equal(body.start_date, '2029-01-01T00:00:00.000Z');
    assert.equal(body.maintenance_period, null);
    assert.equal(body.is_borrowed, false);
    assert.equal(body.borrowed_until, null);
  });

  test('is complete for a license with features and unusual texts too', async (t) => {
    const particulars = { ...DEMO_LICENSE.particulars, customer: { name: 'A "B" \\ é \u2028\ud800 </x>' } };
    const { post } = await openTestApp(t, { licenses: [{ ...DEMO_LICENSE, key: '"\\\n', particulars }] });
    const { body } = await post('/api/v4/register', { user: 'ann' });
    assertWholeAnswer(body);
    assert.equal(body.license_key, '"\\\n');
    assert.deepEqual(body.customer, particulars.customer);
    const [exporting, rendering] = body.product_features as Record<string, unknown>[];
    assert.equal(exporting?.license_id, DEMO_LICENSE.id);
    assert.equal(exporting?.max_consumption, exporting?.max_consumptions);
    assert.equal(exporting?.floating_users, undefined);
    assert.equal(rendering?.floating_users, 2);
  });

  test('never contains the hardware id, nor the user as a text', async (t) => {
    const { post } = await openTestApp(t);
    const hardware = { hardware_id: 'abc', os_hostname: 'h' };
    const { body, text } = await post('/api/v4/register', { user: 'ann', ...hardware });
    assert.doesNotMatch(text, /hardware_id/);
    assert.ok(!Object.hasOwn(body, 'user'));
    assert.ok(!Object.hasOwn(JSON.parse(body.license_json as string), 'user'));
  });

  test('counts slots, and a heartbeat keeps its slot', async (t) => {
    const { post, clock, store } = await openTestApp(t);
    assert.equal((await post('/api/v4/register', { user: 'ann' })).body.floating_in_use, 1);
    clock.advance(9 * MINUTE_MS);
    const heartbeat = await post('/api/v4/register', { user: 'ann', ip_local: '10.9.9.9' });
    assert.equal(heartbeat.body.floating_in_use, 1);
    const { body } = await post('/api/v4/register', { user: 'bob' });
    const uses = ['floating_in_use', 'floating_slots_in_use', 'floating_in_use_devices'];
    assert.deepEqual(
      uses.map((name) => body[name]),
      [2, 2, 2],
    );
    const [ann] = (await readTraces(store)).registrations;
    assert.equal(ann?.registration.registeredAt, START);
    assert.equal(ann?.registration.endsAt, plus(START, 19 * MINUTE_MS));
    assert.equal(ann?.registration.host.address, '10.9.9.9');
  });
});

describe('a heartbeat', () => {
  test('learns when its slot ends, and when to renew it', async (t) => {
    const { post, clock } = await openTestApp(t);
    const { body } = await post('/api/v4/register', { user: 'ann' });
    assert.equal(body.slot_ends_at, new Date(START + 10 * MINUTE_MS).toISOString());
    assert.deepEqual([body.slot_ends_in_seconds, body.renew_in_seconds], [600, 200]);
    clock.advance(2 * MINUTE_MS);
    const later = (await post('/api/v4/register', { user: 'ann' })).body;
    assert.equal(later.slot_ends_at, new Date(START + 12 * MINUTE_MS).toISOString());
    const borrow = (await post('/api/v4/borrow', { user: 'ann' })).body;
    assert.equal(borrow.slot_ends_at, borrow.borrowed_until);
    assert.equal(borrow.renew_in_seconds, 200);
  });

  test('renews in time near the end of the license', async (t) => {
    const license = testLicense(1, { type: 'time-limited', validUntil: plus(START, MINUTE_MS) });
    const { post } = await openTestApp(t, { licenses: [license] });
    const { body } = await post('/api/v4/register', { user: 'ann' });
    assert.deepEqual([body.slot_ends_in_seconds, body.renew_in_seconds], [60, 20]);
  });

  test('that prefers a minimal answer gets its slot without the license', async (t) => {
    const { post } = await openTestApp(t);
    const { body: whole } = await post('/api/v4/register', { user: 'ann' });
    for (const prefer of ['return=minimal', 'wait=5, Return = "minimal"; x=1', 'return=minimal,other']) {
      const { body, text } = await post('/api/v4/register', { user: 'ann' }, { headers: { prefer } });
      assert.ok(text.length < 300, text);
      assert.ok(Object.keys(body).length > 0);
      for (const [name, value] of Object.entries(body)) assert.deepEqual(value, whole[name], name);
      assert.ok(Object.hasOwn(body, 'slot_ends_at') && Object.hasOwn(body, 'renew_in_seconds'));
    }
    for (const prefer of ['return=representation', 'noreturn=minimal', 'return=minimalist']) {
      const { body } = await post('/api/v4/register', { user: 'ann' }, { headers: { prefer } });
      assert.deepEqual(body, whole, prefer);
    }
    const { text } = await post('/api/v4/borrow', { user: 'ann' }, { headers: { prefer: 'return=minimal' } });
    assert.ok(text.length < 300, text);
  });
});

describe('accepted forms of a registration', () => {
  const accepted: Readonly<Record<string, object>> = {
    'keys in any case': { Product: 'cad', USER: 'ann', Os_HostName: 'h' },
    'null for everything else': { user: 'ann', product: null, license_id: null, user_info: null },
    'the license id as digits': { user: 'ann', license_id: '1' },
    'the license id as a number': { user: 'ann', License_ID: 1 },
    'an empty user_info': { user: 'ann', user_info: '' },
    'unknown keys of every type': { user: 'ann', sdk_ver: '1', app_ver: null, registered_at: {}, x: [[1]] },
    'no product where there is only one': { user: 'ann' },
    'a user of 256 characters': { user: 'u'.repeat(256), user_info: 'i'.repeat(4096) },
    'a user that looks like an address or an id': { user: 'ann+x@example.com / 0A:1B:2C' },
  };

  for (const [what, body] of Object.entries(accepted)) {
    test(what, async (t) => {
      const { post } = await openTestApp(t);
      const answer = await post('/api/v4/register', body);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.body.id, 1);
    });
  }

  for (const authorization of ['Bearer undefined', '', 'algorithm="hmac-sha256",apikey="x"', 'Basic eA==']) {
    test(`the header "Authorization: ${authorization}" is ignored`, async (t) => {
      const { post } = await openTestApp(t);
      const answer = await post('/api/v4/register', { user: 'ann' }, { headers: { authorization } });
      assert.equal(answer.status, 200);
    });
  }

  test('any content type, and a body with a byte order mark or blanks around it', async (t) => {
    const { post } = await openTestApp(t);
    const headers = { 'content-type': 'text/plain' };
    const bodies = [' \n{"user":"ann"}\t', '\ufeff{"user":"ann"}'];
    for (const body of bodies) assert.equal((await post('/api/v4/register', body, { headers })).status, 200);
  });
});

describe('the user of a request', () => {
  test('is the host name if none is given', async (t) => {
    const { post, store } = await openTestApp(t);
    for (const user of [undefined, null, '', '  ']) {
      const { status } = await post('/api/v4/register', { user, os_hostname: 'host-1' });
      assert.equal(status, 200);
    }
    const { registrations } = await readTraces(store);
    assert.deepEqual(
      registrations.map(({ registration }) => registration.user),
      ['host-1'],
    );
    assert.equal((await post('/api/v4/unregister', { os_hostname: 'host-1' })).text, 'user_unregistered');
  });

  for (const path of ['/api/v4/register', '/api/v4/borrow', '/api/v4/unregister']) {
    test(`is required by ${path}: missing_parameters`, async (t) => {
      const { post, store } = await openTestApp(t);
      const before = await readTraces(store);
      for (const body of [{}, '', { product: 'cad', user: null }]) {
        const answer = await post(path, body);
        assert.equal(answer.status, 400);
        assert.equal(answer.body.code, 'missing_parameters');
      }
      assert.deepEqual(await readTraces(store), before);
    });
  }
});

describe('borrow', () => {
  const until: Readonly<Record<string, string>> = {
    '2030-01-16T10:20:30Z': '2030-01-16T10:20:30.000Z',
    '2030-01-16T12:20:30+02:00': '2030-01-16T10:20:30.000Z',
    '2030-01-16t10:20:30.016789z': '2030-01-16T10:20:30.016Z',
    '2030-01-16 23:30:48.016': '2030-01-16T23:30:48.016Z',
    '2030-01-16 23:30:48': '2030-01-16T23:30:48.000Z',
    '2030-01-16 23:30': '2030-01-16T23:30:00.000Z',
    '2030-01-17': '2030-01-17T00:00:00.000Z',
  };

  for (const [sent, held] of Object.entries(until)) {
    test(`until ${sent}`, async (t) => {
      const { post } = await openTestApp(t);
      const { status, body } = await post('/api/v4/borrow', { user: 'ann', borrowed_until: sent });
      assert.equal(status, 200);
      assertWholeAnswer(body);
      borrowAnswer.strict().parse(body);
      assert.equal(body.is_borrowed, true);
      assert.equal(body.borrowed_until, held);
      assert.equal(body.max_borrow_time, 168);
      assert.equal(body.license_id, 1);
    });
  }

  test('without a date: as long as the license allows', async (t) => {
    const { post } = await openTestApp(t);
    const longest = new Date(START + 168 * HOUR_MS).toISOString();
    for (const date of [undefined, null, '', '0001-01-01T00:00:00Z', '0001-01-01 00:00:00']) {
      const { body } = await post('/api/v4/borrow', { user: 'ann', borrowed_until: date });
      assert.equal(body.borrowed_until, longest, String(date));
    }
  });

  test('accepts borrow_until as another name of the date; the documented one counts', async (t) => {
    const { post } = await openTestApp(t);
    const { body } = await post('/api/v4/borrow', { user: 'ann', Borrow_Until: '2030-01-17' });
    assert.equal(body.borrowed_until, '2030-01-17T00:00:00.000Z');
    const both = { user: 'ann', borrow_until: '2030-01-17', borrowed_until: '2030-01-16' };
    assert.equal((await post('/api/v4/borrow', both)).body.borrowed_until, '2030-01-16T00:00:00.000Z');
  });

  test('a heartbeat of a borrower still shows the borrow', async (t) => {
    const { post, get } = await openTestApp(t);
    await post('/api/v4/borrow', { user: 'ann', borrowed_until: '2030-01-17' });
    const { body } = await post('/api/v4/register', { user: 'ann' });
    assert.equal(body.is_borrowed, true);
    assert.equal(body.borrowed_until, '2030-01-17T00:00:00.000Z');
    const license = await get('/api/v4/license?product=cad');
    assert.equal(license.body.is_borrowed, false, 'the license itself is nobody in particular');
  });

  for (const date of ['tomorrow', '2030-02-30', '2030-01-16T25:00:00Z', '2030-01-14', '2031-01-01', '1e9']) {
    test(`until ${date}: refused with the latest date that is allowed`, async (t) => {
      const { post } = await openTestApp(t);
      const { status, body } = await post('/api/v4/borrow', { user: 'ann', borrowed_until: date });
      assert.equal(status, 400);
      assert.equal(body.code, 'borrow_until_not_valid');
      assert.equal(body.latest_until, new Date(START + 168 * HOUR_MS).toISOString());
    });
  }
});

describe('refusals', () => {
  test('a full license names its slots, how many are in use and when the next is free', async (t) => {
    const { post } = await openTestApp(t, { licenses: [testLicense(1, { slots: 1 })] });
    await post('/api/v4/register', { user: 'ann' });
    for (const path of ['/api/v4/register', '/api/v4/borrow']) {
      const { status, body } = await post(path, { user: 'bob' });
      assert.equal(status, 400);
      const { message, ...facts } = body;
      assert.match(message as string, /^The only slot of "cad" is in use/);
      const next_free_at = new Date(START + 10 * MINUTE_MS).toISOString();
      const expected = { status: 400, code: 'floating_not_available', slots: 1, in_use: 1, next_free_at };
      assert.deepEqual(facts, expected);
    }
  });

  test('by the license: which one is meant, and its state', async (t) => {
    const past = { validUntil: instant(Date.UTC(2029, 0, 1)) };
    const licenses = [
      testLicense(1),
      testLicense(2, { product: 'old', ...past }),
      testLicense(3, { product: 'off', enabled: false, ...past }),
      testLicense(4, { product: 'idle', active: false }),
      testLicense(5, { product: 'later', startsAt: instant(Date.UTC(2031, 0, 1)) }),
      testLicense(6, { product: 'firm', canBorrow: false }),
    ];
    const { post } = await openTestApp(t, { licenses });
    const expected: readonly [string, object, string][] = [
      ['register', { product: 'nothing' }, 'unknown_product'],
      ['register', {}, 'missing_parameters'],
      ['register', { product: 'cad', license_id: 2 }, 'license_not_found'],
      ['register', { license_id: 99 }, 'license_not_found'],
      ['register', { product: 'old' }, 'license_expired'],
      ['register', { product: 'off' }, 'license_not_enabled'],
      ['register', { product: 'idle' }, 'license_not_active'],
      ['borrow', { product: 'later', borrowed_until: 'nonsense' }, 'license_start_date_error'],
      ['borrow', { product: 'firm' }, 'license_borrow_not_allowed'],
      ['unregister', { product: 'cad' }, 'device_not_found'],
    ];
    for (const [operation, body, code] of expected) {
      const answer = await post(`/api/v4/${operation}`, { user: 'ann', ...body });
      assert.equal(answer.status, 400);
      assert.equal(answer.body.status, 400);
      assert.equal(answer.body.code, code, `${operation} ${JSON.stringify(body)}`);
    }
  });
});

describe('returning', () => {
  test('unregister answers with plain text, for a borrowed slot too', async (t) => {
    const { post, store } = await openTestApp(t);
    for (const operation of ['register', 'borrow']) {
      await post(`/api/v4/${operation}`, { user: 'ann' });
      const { status, headers, text } = await post('/api/v4/unregister', { user: 'ann', license_id: '1' });
      assert.equal(status, 200);
      assert.equal(text, 'user_unregistered');
      assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8');
      assert.deepEqual((await readTraces(store)).registrations, []);
    }
  });

  test('the floating/ paths are aliases', async (t) => {
    const { post, send } = await openTestApp(t);
    assert.equal((await post('/api/v4/floating/register', { user: 'ann' })).body.floating_in_use, 1);
    assert.equal((await post('/api/v4/floating/unregister', { user: 'ann' })).text, 'user_unregistered');
    const all = await send('POST', '/api/v4/floating/unregister/all');
    assert.equal(all.status, 200);
  });

  test('unregister/all frees every license by GET and by POST, with an empty answer', async (t) => {
    const licenses = [testLicense(1), testLicense(2, { product: 'cam' })];
    const { post, send, store } = await openTestApp(t, { licenses });
    for (const method of ['GET', 'POST']) {
      await post('/api/v4/register', { product: 'cad', user: 'ann' });
      await post('/api/v4/borrow', { product: 'cam', user: 'bob' });
      const { status, text } = await send(method, '/api/v4/unregister/all');
      assert.equal(status, 200);
      assert.equal(text, '');
      assert.deepEqual((await readTraces(store)).registrations, []);
    }
    const kinds = (await readEvents(store)).map(({ kind }) => kind);
    assert.equal(kinds.filter((kind) => kind === 'all_slots_returned').length, 4);
  });
});
