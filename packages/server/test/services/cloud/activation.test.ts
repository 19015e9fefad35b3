import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { openTestApp, readTraces } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { type Cloud, CloudFault, type CloudReply, UNPROVEN, type Vouched } from '../../../src/cloud/cloud.ts';
import { refusalError } from '../../../src/services/cloud/activation.ts';

const AWAY = new CloudFault('unreachable', 'The licensing cloud is away.', { mayHaveArrived: false });

function vouchFor(isFloating: boolean): CloudReply<Vouched> {
  return {
    kind: 'ok',
    value: { license: testLicense(7), isFloating, counted: { total: 0, features: [] }, certificates: [] },
    isBound: false,
  };
}

/** A server with a cloud that answers as it is told, and everything that it was asked. */
async function openWith(t: TestContext, answers: Partial<Cloud>) {
  const asked: string[] = [];
  const unable = () => Promise.reject(AWAY);
  const all: Cloud = {
    activate: unable,
    check: unable,
    deactivate: unable,
    report: unable,
    probe: unable,
    ...answers,
  };
  const cloud = new Proxy(all, {
    get: (target, name: keyof Cloud) => {
      asked.push(name);
      return target[name];
    },
  });
  const app = await openTestApp(t, { licenses: [], cloud });
  await app.credentials.setKeys({ apiKey: 'a', sharedKey: 's' }, 'test');
  return { app, asked };
}

describe('adding a license', () => {
  const ADD = '/api/v4/addProduct';

  test('contacts the cloud only if the request is complete', async (t) => {
    const { app, asked } = await openWith(t, {});
    for (const body of [
      {},
      { licenseKey: 'K' },
      { product: 'cad' },
      { product: 'cad', username: 'ann' },
      { product: 'cad', password: 'secret' },
    ]) {
      assert.equal((await app.post(ADD, body)).body.code, 'missing_parameters');
    }
    assert.deepEqual(asked, []);
  });

  for (const [title, deactivate] of Object.entries({
    'gives back': async () => ({ kind: 'ok', value: null, isBound: false }) as const,
    'cannot give back': () => Promise.reject(AWAY),
  })) {
    test(`${title} a license that is not floating, and says why it is not added`, async (t) => {
      const { app, asked } = await openWith(t, { activate: async () => vouchFor(false), deactivate });
      const before = await readTraces(app.store);
      const { body } = await app.post(ADD, { product: 'cad', licenseKey: 'K' });
      assert.equal(body.code, 'license_not_floating');
      assert.deepEqual(asked, ['activate', 'deactivate']);
      assert.deepEqual(await readTraces(app.store), before);
    });
  }
});

describe('a refusal of the cloud', () => {
  const refuse = (code: string, message: string) =>
    refusalError({ kind: 'refused', code, message, ...UNPROVEN });

  test('is reported under its own code if we have the same one', () => {
    const { code, message } = refuse('license_expired', 'It is over.');
    assert.deepEqual([code, message], ['license_expired', 'The licensing cloud refused: It is over.']);
  });

  for (const code of ['quota_of_the_moon', 'internal_error', 'store_unavailable', 'toString', '__proto__']) {
    test(`is reported as one of the cloud if it is "${code}"`, () => {
      const error = refuse(code, '');
      assert.equal(error.code, 'cloud_refused');
      assert.equal(error.message, `The licensing cloud refused: ${code}`);
      assert.deepEqual(error.details, { cloudCode: code });
    });
  }
});
