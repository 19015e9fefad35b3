import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { describe, test } from 'node:test';
import { damage } from '../../../../test/support/damage.ts';
import { rsaKeysOf } from '../../../../test/support/rsa-keys.ts';
import { encodeBase64 } from '../../src/carried/canonical-base64.ts';
import {
  isSignedByServer,
  isSignedWithKeys,
  type OfflineRequest,
  readOfflineRequest,
  writeOfflineRequest,
} from '../../src/carried/offline-request.ts';

const KEYS = { apiKey: 'api', sharedKey: 'shared' };
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const SERVER_KEY = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');

const REQUEST: OfflineRequest = {
  request: 'activation',
  requestId: '7e540971-4dc4-497c-b0e1-018bfdc5a6c0',
  product: 'cad',
  licenseKey: 'K-0001',
  username: null,
  hardwareId: 'machine-1',
  date: '2026-06-15T12:00:00.000Z',
  serverKey: SERVER_KEY,
  hostname: 'alpha',
  appVersion: '0.1.0',
  usage: null,
};

const BY_SERVER = writeOfflineRequest(REQUEST, { kind: 'server', privateKey });
const BY_KEYS = writeOfflineRequest(REQUEST, { kind: 'cloud-keys', keys: KEYS });

function isTaken(file: string): boolean {
  const read = readOfflineRequest(file);
  if (read === null) return false;
  if (read.fields.api_key === 'api') return isSignedWithKeys(read, KEYS.sharedKey);
  return isSignedByServer(read.fields.server_key ?? '', read.text, read.signature);
}

describe('a request', () => {
  test('of the server itself is read as it was written', () => {
    const { fields } = readOfflineRequest(`${BY_SERVER}\n`) ?? {};
    assert.deepEqual(fields, {
      request: 'activation',
      schema_version: 2,
      request_id: REQUEST.requestId,
      product: 'cad',
      license_key: 'K-0001',
      hardware_id: 'machine-1',
      date: REQUEST.date,
      server_key: SERVER_KEY,
      hostname: 'alpha',
      app_ver: '0.1.0',
    });
    assert.ok(isTaken(BY_SERVER));
  });

  test('signed with the cloud keys has both signatures, and never the shared key', () => {
    const read = readOfflineRequest(BY_KEYS);
    assert.ok(read !== null && isSignedWithKeys(read, 'shared') && !isSignedWithKeys(read, 'other'));
    const hmac = (text: string) => createHmac('sha256', 'shared').update(text).digest('base64');
    assert.equal(read.signature, hmac(read.text));
    const inner = `licenseSpring\ndate: ${REQUEST.date}\nK-0001\nmachine-1\napi`;
    assert.equal(read.fields.signature, hmac(inner));
    assert.ok(!Buffer.from(BY_KEYS, 'base64').toString().includes('"shared"'));
  });

  test('needs neither a product nor a license key, and can include usage', () => {
    const bare = { ...REQUEST, product: null, licenseKey: null, usage: { sequence: 1 } };
    for (const signer of [
      { kind: 'server', privateKey },
      { kind: 'cloud-keys', keys: KEYS },
    ] as const) {
      const file = writeOfflineRequest({ ...bare, request: 'deactivation' }, signer);
      const { fields } = readOfflineRequest(file) ?? {};
      assert.deepEqual([fields?.product, fields?.license_key], [undefined, undefined]);
      assert.deepEqual([fields?.request, fields?.usage], ['deactivation', { sequence: 1 }]);
      assert.ok(isTaken(file));
    }
  });

  test('contains the user it is for, and signs the name in place of a key', () => {
    const ofUser = { ...REQUEST, licenseKey: null, username: 'ann' };
    const file = writeOfflineRequest(ofUser, { kind: 'cloud-keys', keys: KEYS });
    const { fields } = readOfflineRequest(file) ?? {};
    assert.deepEqual([fields?.username, fields?.license_key], ['ann', undefined]);
    const inner = `licenseSpring\ndate: ${REQUEST.date}\nann\nmachine-1\napi`;
    assert.equal(fields?.signature, createHmac('sha256', 'shared').update(inner).digest('base64'));
    assert.ok(isTaken(file));
  });

  for (const [name, file] of Object.entries({ 'by the server': BY_SERVER, 'with the keys': BY_KEYS })) {
    test(`signed ${name}: any flipped bit and any truncation is refused`, () => {
      for (const damaged of damage(file)) assert.ok(!isTaken(damaged), damaged);
    });
  }
});

/** A request whose JSON somebody wrote by hand, signed with the keys. */
function craft(request: string): string {
  const signature = createHmac('sha256', 'shared').update(request).digest('base64');
  return encodeBase64(`{"request":${request},"signature":"${signature}"}`);
}

const HEAD = `"request":"activation","schema_version":2,"request_id":"${REQUEST.requestId}","date":"d"`;

function innerOf(whose: string): string {
  return createHmac('sha256', 'shared').update(`licenseSpring\ndate: d\n${whose}\nh\napi`).digest('base64');
}

describe('both signatures of the keys', () => {
  for (const [what, whose, fields] of [
    ['a license key', 'k', '"license_key":"k",'],
    ['a user', 'ann', '"username":"ann",'],
    ['neither', '', ''],
  ] as const) {
    test(`cover ${what}`, () => {
      const write = (inner: string) =>
        craft(`{${HEAD},${fields}"hardware_id":"h","api_key":"api","signature":"${inner}"}`);
      assert.ok(isTaken(write(innerOf(whose))));
      assert.ok(!isTaken(write(innerOf('other'))), 'the inner one has to fit');
      assert.ok(!isTaken(write('')));
    });
  }

  test('the inner one cannot be omitted, nor can the outer one be wrong', () => {
    assert.ok(!isTaken(craft(`{${HEAD},"hardware_id":"h","api_key":"api"}`)));
    const request = `{${HEAD},"hardware_id":"h","api_key":"api","signature":"${innerOf('')}"}`;
    assert.ok(isTaken(craft(request)));
    assert.ok(!isTaken(encodeBase64(`{"request":${request},"signature":"${innerOf('')}"}`)));
  });

  test('cover the spelling: keys that look like numbers, escapes', () => {
    const odd = `{"9":1,"1":2,${HEAD},"hardware_id":"\\u0068","api_key":"api","signature":"${innerOf('')}"}`;
    assert.ok(isTaken(craft(odd)));
    const [, signature] = /"signature":"([^"]+)"\}$/.exec(Buffer.from(craft(odd), 'base64').toString()) ?? [];
    const respelled = JSON.stringify(JSON.parse(odd));
    assert.ok(!isTaken(encodeBase64(`{"request":${respelled},"signature":"${signature}"}`)));
  });
});

describe('what is not a request', () => {
  for (const [what, request] of [
    ['of another version', `{${HEAD.replace(':2', ':1')},"hardware_id":"h"}`],
    ['for something else', `{${HEAD.replace('activation', 'liberation')},"hardware_id":"h"}`],
    ['with an invalid id', `{${HEAD.replace(REQUEST.requestId, 'first')},"hardware_id":"h"}`],
    ['without a machine', `{${HEAD}}`],
    ['of a machine without a name', `{${HEAD},"hardware_id":" "}`],
    ['of a machine with terminal escapes in its name', `{${HEAD},"hardware_id":"\\u001b[2J"}`],
    ['with a name of half a character', `{${HEAD},"hardware_id":"\\ud800"}`],
    ['with a name too long', `{${HEAD},"hardware_id":"${'x'.repeat(257)}"}`],
    ['with a repeated key', `{${HEAD},"hardware_id":"h","hardware_id":"h"}`],
    ['with a prototype key', `{${HEAD},"hardware_id":"h","__proto__":{}}`],
    ['that is a list', '[]'],
  ] as const) {
    test(what, () => assert.equal(readOfflineRequest(craft(request)), null));
  }

  test('anything that is not base64 of JSON', () => {
    for (const file of ['', '{}', encodeBase64('{}'), encodeBase64('[]'), encodeBase64('x'), 'YQ']) {
      assert.equal(readOfflineRequest(file), null, file);
    }
    assert.equal(readOfflineRequest('A'.repeat(1024 * 1024)), null);
  });
});

describe("the server's own signature", () => {
  test('counts with the named key, and only an Ed25519 key', () => {
    const rsa = rsaKeysOf('stranger');
    const der = rsa.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    const byRsa = sign('sha256', Buffer.from('text'), rsa.privateKey).toString('base64');
    assert.ok(!isSignedByServer(der, 'text', byRsa));
    const right = sign(null, Buffer.from('text'), privateKey).toString('base64');
    assert.ok(isSignedByServer(SERVER_KEY, 'text', right));
    assert.ok(!isSignedByServer(SERVER_KEY, 'text2', right));
    assert.ok(!isSignedByServer(SERVER_KEY.replaceAll('=', ''), 'text', right), 'in canonical base64');
    assert.ok(!isSignedByServer(SERVER_KEY, 'text', right.replaceAll('=', '')));
    for (const key of ['', 'AAAA', 'no base64']) assert.ok(!isSignedByServer(key, 'text', right), key);
  });
});
