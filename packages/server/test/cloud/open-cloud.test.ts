import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type Owner, rsaKeysOf } from '../../../../test/support/rsa-keys.ts';
import { temporaryFolder } from '../../../../test/support/server-process.ts';
import { isPlainAndFar, openCloud, readVendorKeys } from '../../src/cloud/open-cloud.ts';

const PEM = pemOf('vendor');
const OTHER_PEM = pemOf('stranger');
const BASE64 = PEM.split('\n').slice(1, -2).join('');
const EC = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
  type: 'spki',
  format: 'pem',
}) as string;

function pemOf(owner: Owner): string {
  return rsaKeysOf(owner).publicKey.export({ type: 'spki', format: 'pem' }).toString();
}

function open(url: string, publicKey: string = PEM) {
  const { signal } = new AbortController();
  return openCloud(
    { url, publicKey: publicKey === '' ? [] : [publicKey], timeoutSeconds: 1 },
    { readWall: () => 0, signal },
  );
}

const UNUSABLE = { name: 'Error', code: 'cloud_not_configured', message: /^"cloud\.(url|publicKey)" .*\.$/ };

describe('the address of the cloud', () => {
  test('may be empty: there is no cloud', () => assert.equal(open('', ''), null));

  for (const url of ['https://cloud.example', 'http://127.0.0.1:8090', 'https://cloud.example/below/this/']) {
    test(`may be ${url}`, () => assert.notEqual(open(url), null));
  }

  for (const url of [
    'cloud.example',
    'ftp://cloud.example',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'https://',
    'https://a b',
    '://',
    'https://key@cloud.example',
    'https://key:secret@cloud.example',
    'https://cloud.example?apiKey=secret',
    'https://cloud.example/#there',
  ]) {
    test(`cannot be ${url}`, () => {
      assert.throws(() => open(url), UNUSABLE);
      assert.throws(
        () => open(url),
        (error: Error) => !/secret/.test(error.message),
      );
    });
  }

  test('is warned about if it is plain HTTP to another machine', () => {
    const far = ['http://cloud.example', 'http://10.0.0.1:80/x', 'http://127.0.0.1.example'];
    const near = ['', 'https://cloud.example', 'http://localhost:1', 'http://127.0.0.1', 'http://[::1]:8'];
    assert.deepEqual(
      far.filter((url) => !isPlainAndFar({ url })),
      [],
    );
    assert.deepEqual(
      near.filter((url) => isPlainAndFar({ url })),
      [],
    );
  });
});

describe('the public key of the cloud', () => {
  const KEYS: Readonly<Record<string, string>> = {
    'the text of a PEM file': PEM,
    'one with its line breaks written out, as in the environment': PEM.replaceAll('\n', '\\n'),
    'one with the line breaks of Windows': PEM.replaceAll('\n', '\r\n'),
    'the base64 of DER': BASE64,
    'one with blanks around it': `\n ${BASE64} \n`,
  };

  for (const [title, key] of Object.entries(KEYS)) {
    test(`may be ${title}, or a file with it`, (t) => {
      const file = join(temporaryFolder(t), 'cloud.pem');
      writeFileSync(file, key);
      assert.notEqual(open('https://cloud.example', key), null);
      assert.notEqual(open('https://cloud.example', file), null);
    });
  }

  test('may be several: in one file, in one text, or in a list of both', (t) => {
    const file = join(temporaryFolder(t), 'vendor.pem');
    writeFileSync(file, `the old one\n${PEM}\nthe new one\n${OTHER_PEM}`);
    const count = (...publicKey: string[]) => readVendorKeys({ publicKey }).length;
    assert.deepEqual([count(file), count(PEM + OTHER_PEM), count(file, BASE64), count()], [2, 2, 3, 0]);
    const [first, second] = readVendorKeys({ publicKey: [file] });
    assert.deepEqual(
      [first, second].map((key) => key?.export({ type: 'spki', format: 'pem' })),
      [PEM, OTHER_PEM],
    );
    assert.throws(() => count(PEM + EC), UNUSABLE, 'all of them must be right');
  });

  const NO_KEYS: Readonly<Record<string, string>> = {
    nothing: '',
    nonsense: 'nonsense',
    'a missing file': '/nowhere/cloud.pem',
    'a folder': '/',
    'half a key': BASE64.slice(0, BASE64.length / 2),
    'a key of another kind': EC,
    'a PEM frame without content': '-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----',
  };

  for (const [title, key] of Object.entries(NO_KEYS)) {
    test(`cannot be ${title}`, () => assert.throws(() => open('https://cloud.example', key), UNUSABLE));
  }
});
