import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { isDateSigned, parseAuthorization } from '@berth/protocol/cloud/cloud-authorization';
import { SIGNATURE_HEADER } from '@berth/protocol/cloud/vendor-signature';
import {
  answer,
  answerWith,
  findFault,
  HOST,
  KEYS,
  LICENSE,
  MACHINE,
  OPERATIONS,
  openCloud,
} from '../../../../test/support/cloud/answering-cloud.ts';
import { type Cloud, UNPROVEN } from '../../src/cloud/cloud.ts';

const MIB = 1024 * 1024;

describe('a request to the cloud', () => {
  test('has the date and the proof, and goes to the configured address', async (t) => {
    const { cloud, seen } = await openCloud(t, answerWith(LICENSE), '/below/this//');
    assert.equal((await cloud.check(KEYS, MACHINE)).kind, 'ok');
    const [{ request } = assert.fail('Nothing came.')] = seen;
    const { method, url, headers } = request;
    const query = 'hardware_id=machine&product=cad&license_key=KEY-1';
    assert.deepEqual([method, url], ['GET', `/below/this/api/v4/check_license?${query}`]);
    assert.equal(headers.date, 'Mon, 15 Jun 2026 12:00:00 GMT');
    const { apiKey, signature } = parseAuthorization(headers.authorization ?? '') ?? {};
    assert.equal(apiKey, 'api-1');
    assert.ok(isDateSigned(KEYS.sharedKey, headers.date, signature ?? ''));
    assert.ok(!JSON.stringify(headers).includes(KEYS.sharedKey));
  });

  test('sends a user and a password for an activation, and only the user afterwards', async (t) => {
    const { cloud, seen } = await openCloud(t, answerWith(LICENSE));
    const holder = { username: 'ann', password: 'secret' };
    await cloud.activate(KEYS, { ...MACHINE, holder }, HOST);
    await cloud.check(KEYS, { ...MACHINE, holder: { ...holder, password: null } });
    const { hostname, ip, app_ver, license_key, ...sent } = JSON.parse(seen[0]?.body ?? '');
    assert.deepEqual([sent.username, sent.password, license_key], ['ann', 'secret', undefined]);
    assert.deepEqual([hostname, ip, app_ver], ['alpha', '192.0.2.7', '1.2.3']);
    assert.doesNotMatch(seen[1]?.request.url ?? '', /password/);
  });

  test('names the license only to a cloud that repeats nonces, and not to activate it', async (t) => {
    const { cloud, seen } = await openCloud(t, (response, { url }) => {
      const isUnknown = url?.includes('license_id=') === true;
      if (isUnknown) answer(response, 400, '{"status":400,"code":"license_not_found","message":"No."}');
      else answer(response, 200, JSON.stringify(LICENSE));
    });
    const known = { ...MACHINE, sendsId: true };
    const amount = { feature: null, amount: 1, reportId: 'r' };
    for (const meant of [MACHINE, known]) {
      await cloud.activate(KEYS, meant, HOST);
      await cloud.deactivate(KEYS, meant).catch(() => {});
      await cloud.report(KEYS, meant, amount).catch(() => {});
      await cloud.report(KEYS, meant, { ...amount, feature: 'render' }).catch(() => {});
    }
    assert.deepEqual(
      seen.map(({ body }) => JSON.parse(body).license_id ?? null),
      [null, null, null, null, null, 7, 7, 7],
    );
    seen.length = 0;
    assert.equal((await cloud.check(KEYS, known)).kind, 'ok', 'the cloud knows the key, and not the id');
    const asked = seen.map(({ request }) =>
      new URLSearchParams(request.url?.split('?')[1]).get('license_id'),
    );
    assert.deepEqual(asked, ['7', null]);
  });

  for (const [name, ask] of Object.entries(OPERATIONS)) {
    test(`${name} ends when the server stops`, async (t) => {
      const asked = Promise.withResolvers<void>();
      const { cloud, cutOff } = await openCloud(t, () => asked.resolve());
      const failure = findFault(ask(cloud));
      await asked.promise;
      cutOff.abort();
      assert.equal(await failure, 'stopping');
    });
  }
});

describe('an answer of the cloud', () => {
  const pad = (length: number) => {
    const facts = { ...LICENSE, metadata: { pad: '' } };
    const size = Buffer.byteLength(JSON.stringify(facts));
    return JSON.stringify({ ...facts, metadata: { pad: 'x'.repeat(length - size) } });
  };

  test('may have 1 MiB, and not a byte more', async (t) => {
    for (const [length, expected] of [
      [MIB, 'ok'],
      [MIB + 1, 'too_large'],
    ] as const) {
      const body = pad(length);
      assert.equal(body.length, length);
      const { cloud } = await openCloud(t, (response) => answer(response, 200, body));
      const found = await cloud.check(KEYS, MACHINE).then(
        ({ kind }) => kind,
        ({ reason }) => reason,
      );
      assert.equal(found, expected);
    }
  });

  for (const status of [200, 400, 500]) {
    test(`without an end is cut, with status ${status}`, async (t) => {
      let sent = 0;
      const cut = Promise.withResolvers<void>();
      const chunk = Buffer.alloc(64 * 1024, ' ');
      const { cloud } = await openCloud(t, (response) => {
        const send = () => {
          sent += chunk.length;
          response.write(chunk, (error) => {
            if (!error && !response.destroyed) send();
          });
        };
        response.writeHead(status).on('close', cut.resolve);
        send();
      });
      assert.equal(await findFault(cloud.check(KEYS, MACHINE)), 'too_large');
      await cut.promise;
      // The rest was in buffers of the two ends.
      assert.ok(sent < 32 * MIB, `${sent} bytes`);
    });
  }

  test('with a body that unpacks to more than 1 MiB is too large as well', async (t) => {
    const packed = gzipSync(pad(8 * MIB));
    const { cloud } = await openCloud(t, (response) =>
      response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(packed),
    );
    assert.equal(await findFault(cloud.check(KEYS, MACHINE)), 'too_large');
  });

  test('with an endless head is rejected', async (t) => {
    const { cloud } = await openCloud(t, (response) => {
      response.socket?.end(`HTTP/1.1 200 OK\r\n${`X: ${'y'.repeat(1000)}\r\n`.repeat(1000)}\r\n`);
    });
    assert.equal(await findFault(cloud.check(KEYS, MACHINE)), 'broken_off');
  });

  const STRANGE: Readonly<Record<string, string>> = {
    'no JSON': 'license',
    'no object': '[]',
    'a key twice': JSON.stringify(LICENSE).replace('{', '{"id":8,'),
    'too deep': `${'['.repeat(100)}${']'.repeat(100)}`,
    'a wrong shape': JSON.stringify({ ...LICENSE, floating_users: 'many' }),
    'a term of newer servers': JSON.stringify({ ...LICENSE, requires: ['seats'] }),
    'no product': JSON.stringify({ ...LICENSE, product_details: undefined }),
  };

  for (const [title, body] of Object.entries(STRANGE)) {
    test(`that is signed and has ${title} is rejected`, async (t) => {
      const { cloud } = await openCloud(t, (response) => answer(response, 200, body));
      assert.equal(await findFault(cloud.check(KEYS, MACHINE)), 'not_understood');
    });
  }

  for (const status of [201, 204, 206, 401, 404, 405, 418]) {
    test(`with status ${status} and no error in it is rejected`, async (t) => {
      for (const ask of [OPERATIONS.check, OPERATIONS.deactivate, OPERATIONS.report, OPERATIONS.probe]) {
        const { cloud } = await openCloud(t, (response) => response.writeHead(status).end());
        assert.equal(await findFault(ask?.(cloud) as Promise<unknown>), 'not_understood');
      }
    });
  }

  test("is refused with the cloud's code and message, and says whether it is signed", async (t) => {
    const facts = { status: 400, code: 'license_expired', message: 'Over\u0000\u001b.' };
    const { cloud } = await openCloud(t, answerWith(facts, 400));
    const expected = { kind: 'refused', code: 'license_expired', message: 'Over  .' };
    assert.deepEqual(await cloud.check(KEYS, MACHINE), { ...expected, ...UNPROVEN, isSigned: true });
    const unsigned = await openCloud(t, (response) =>
      response.writeHead(400, { [SIGNATURE_HEADER]: '!' }).end(JSON.stringify(facts)),
    );
    assert.deepEqual(await unsigned.cloud.check(KEYS, MACHINE), { ...expected, ...UNPROVEN });
  });
});

describe('the answer to a report', () => {
  const report = (cloud: Cloud) => cloud.report(KEYS, MACHINE, { feature: 'x', amount: 2, reportId: 'r-1' });

  test('has the total, and the id if the cloud supports ids', async (t) => {
    for (const [facts, knowsReportIds] of [
      [{ total_consumptions: 5, report_id: 'r-1' }, true],
      [{ total_consumptions: 5, report_id: null }, false],
      [{ total_consumptions: 5 }, false],
    ] as const) {
      const { cloud, seen } = await openCloud(t, answerWith(facts));
      assert.deepEqual(await report(cloud), {
        kind: 'ok',
        value: { total: 5, knowsReportIds },
        isBound: false,
      });
      const { consumptions, report_id, feature, event } = JSON.parse(seen[0]?.body ?? '');
      assert.deepEqual(
        [consumptions, report_id, feature, event],
        [2, 'r-1', 'x', ['offline_floating_consumptions_sync']],
      );
    }
  });

  test('is rejected if it is about another report, or a whole license', async (t) => {
    for (const facts of [
      { total_consumptions: 5, report_id: 'r-2' },
      { ...LICENSE, total_consumptions: 5 },
      { report_id: 'r-1' },
    ]) {
      const { cloud } = await openCloud(t, answerWith(facts));
      assert.equal(await findFault(report(cloud)), 'not_understood');
    }
  });
});

describe('the answer about a license', () => {
  test('is rejected if it is about another one', async (t) => {
    for (const facts of [
      { ...LICENSE, license_key: 'KEY-2' },
      { ...LICENSE, hardware_id: 'other' },
      { ...LICENSE, product_details: { product_id: 2, short_code: 'other' } },
    ]) {
      const { cloud } = await openCloud(t, answerWith(facts));
      assert.equal(await findFault(cloud.check(KEYS, MACHINE)), 'not_understood');
    }
  });

  test('may write the key in another case, or omit it', async (t) => {
    for (const facts of [
      { ...LICENSE, license_key: 'key-1' },
      { ...LICENSE, license_key: null },
    ]) {
      const { cloud } = await openCloud(t, answerWith(facts));
      assert.equal((await cloud.check(KEYS, MACHINE)).kind, 'ok');
    }
  });
});

describe('a probe', () => {
  test('only checks whether the keys are accepted', async (t) => {
    for (const [facts, kind] of [
      [{ code: 'missing_parameters' }, 'ok'],
      [{ code: 'invalid_api_key' }, 'refused'],
      [{ code: 'signature_mismatch' }, 'refused'],
      [{ code: 'date_not_valid' }, 'refused'],
    ] as const) {
      const { cloud } = await openCloud(t, answerWith(facts, 400));
      assert.equal((await cloud.probe(KEYS)).kind, kind);
    }
  });
});
