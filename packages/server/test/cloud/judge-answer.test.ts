import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { digestRequest, NONCE_HEADER } from '@berth/protocol/cloud/cloud-binding';
import { signBytes } from '@berth/protocol/cloud/vendor-signature';
import {
  answer,
  answerWith,
  findFault,
  KEYS,
  LICENSE,
  MACHINE,
  OPERATIONS,
  openCloud,
  privateKey,
  type Work,
} from '../../../../test/support/cloud/answering-cloud.ts';
import type { CloudReply } from '../../src/cloud/cloud.ts';

describe('an answer that repeats the nonce', () => {
  /** Answers with what a cloud would say to this very request. */
  const answerBound =
    (facts: object, status = 200, change: object = {}): Work =>
    (response, request, body) => {
      const { pathname, search } = new URL(request.url ?? '', 'http://x');
      const operation = pathname.slice(pathname.lastIndexOf('/') + 1);
      const binding = {
        nonce: request.headers[NONCE_HEADER.toLowerCase()],
        license_id: 7,
        hardware_id: 'machine',
        request_digest: digestRequest(operation, body === '' ? search.slice(1) : body),
      };
      answer(response, status, JSON.stringify({ ...facts, ...binding, ...change }));
    };
  const FACTS: Readonly<Record<string, object>> = {
    activate: LICENSE,
    check: LICENSE,
    deactivate: { code: 'license_deactivated' },
    report: { total_consumptions: 5 },
  };

  test('to a probe is bound, too', async (t) => {
    const { cloud } = await openCloud(t, answerBound({}, 200, { license_id: null, hardware_id: null }));
    assert.deepEqual(await cloud.probe(KEYS), { kind: 'ok', value: null, isBound: true });
  });

  for (const [name, facts] of Object.entries(FACTS)) {
    test(`is bound to ${name}, which sends a new one each time`, async (t) => {
      const { cloud, seen } = await openCloud(t, answerBound(facts));
      for (let round = 0; round < 2; round++) {
        const reply = (await OPERATIONS[name]?.(cloud)) as CloudReply<unknown>;
        const { kind, isBound } = reply;
        assert.deepEqual([kind, isBound], ['ok', true]);
      }
      const nonces = seen.map(({ request }) => String(request.headers[NONCE_HEADER.toLowerCase()]));
      assert.equal(new Set(nonces).size, 2);
      for (const nonce of nonces) assert.match(nonce, /^[0-9a-f]{32}$/);
    });

    for (const change of [
      { nonce: 'a'.repeat(32) },
      { nonce: 5 },
      { license_id: 8 },
      { license_id: null },
      { hardware_id: 'other' },
      { hardware_id: null },
      { request_digest: 'b'.repeat(64) },
    ]) {
      test(`is rejected for ${name} with ${JSON.stringify(change)}`, async (t) => {
        const { cloud } = await openCloud(t, answerBound(facts, 200, change));
        assert.equal(await findFault(OPERATIONS[name]?.(cloud) as Promise<unknown>), 'not_bound');
      });
    }
  }

  const REFUSAL = { status: 400, code: 'license_not_found', message: 'No.' };

  test('and refuses is about this license by its id, or by the digest of the request', async (t) => {
    for (const [change, isAboutLicense] of [
      [{}, true],
      [{ license_id: null }, true],
      [{ request_digest: null }, true],
      [{ license_id: null, request_digest: null }, false],
      [{ hardware_id: null }, false],
    ] as const) {
      const { cloud } = await openCloud(t, answerBound(REFUSAL, 400, change));
      const reply = await cloud.check(KEYS, MACHINE);
      assert.ok(reply.kind === 'refused' && reply.isBound && reply.isSigned);
      assert.equal(reply.isAboutLicense, isAboutLicense, JSON.stringify(change));
    }
  });

  test('and succeeded is not a refusal, whatever its HTTP status', async (t) => {
    const { cloud } = await openCloud(t, answerBound({ code: 'export', total_consumptions: 5 }, 400));
    const reply = await cloud.report(KEYS, MACHINE, { feature: 'export', amount: 2, reportId: 'r-1' });
    assert.ok(reply.kind === 'refused' && !reply.isSigned && !reply.isBound);
  });
});

describe('an unbound answer', () => {
  const sign = (text: string) => signBytes(privateKey, Buffer.from(text.toLowerCase()));
  const { hardware_id: _, ...unnamed } = LICENSE;

  test("counts only with the license's own signature for this machine", async (t) => {
    for (const [facts, isTaken] of [
      [{ license_signature: sign('machine#KEY-1#') }, true],
      [
        {
          validity_period: '2030-01-01T00:00:00Z',
          license_signature: sign('machine#KEY-1#2030-01-01t00:00:00z'),
        },
        true,
      ],
      [{ license_signature: sign('other#KEY-1#') }, false],
      [{ license_signature: sign('machine#KEY-2#') }, false],
      [{}, false],
    ] as const) {
      const { cloud } = await openCloud(t, answerWith({ ...unnamed, ...facts }));
      const found = await cloud.check(KEYS, MACHINE).then(
        ({ kind }) => kind,
        ({ reason }) => reason,
      );
      assert.equal(found, isTaken ? 'ok' : 'not_understood', JSON.stringify(facts));
    }
  });

  for (const field of ['date', 'request_id', 'default_license_type', 'license_signature_v2']) {
    test(`is rejected with the field "${field}" of files`, async (t) => {
      const { cloud } = await openCloud(t, answerWith({ ...LICENSE, [field]: null }));
      for (const ask of [OPERATIONS.activate, OPERATIONS.check, OPERATIONS.report]) {
        assert.equal(await findFault(ask?.(cloud) as Promise<unknown>), 'not_understood');
      }
    });
  }

  test('to a deactivation must be signed', async (t) => {
    const { cloud } = await openCloud(t, (response) => answer(response, 200, 'license_deactivated'));
    assert.deepEqual(await cloud.deactivate(KEYS, MACHINE), { kind: 'ok', value: null, isBound: false });
    const forged = await openCloud(t, (response) => response.end('license_deactivated'));
    assert.equal(await findFault(forged.cloud.deactivate(KEYS, MACHINE)), 'not_signed');
  });

  test("and refuses is about this license with the license's own signature", async (t) => {
    const facts = { status: 400, code: 'license_expired', message: 'Over.' };
    for (const [signature, isAboutLicense] of [
      [sign('machine#KEY-1#'), true],
      [sign('machine#KEY-2#'), false],
    ] as const) {
      const { cloud } = await openCloud(t, answerWith({ ...facts, license_signature: signature }, 400));
      const reply = await cloud.check(KEYS, MACHINE);
      assert.deepEqual(reply.kind === 'refused' && reply.isAboutLicense, isAboutLicense);
    }
  });
});
