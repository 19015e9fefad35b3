import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, test } from 'node:test';
import { damage } from '../../../../test/support/damage.ts';
import { encodeBase64 } from '../../src/carried/canonical-base64.ts';
import { readUsageFile, type Usage, writeUsageFile } from '../../src/carried/usage-file.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const USAGE: Usage = {
  schema_version: 1,
  sequence: 10,
  hardware_id: 'machine-1',
  date: '2026-06-15T12:00:00.000Z',
  server_key: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
  licenses: [
    { license_id: 100, license_key: 'K-0001', consumed: 0, features: [] },
    { license_id: 101, license_key: 'K-0002', consumed: -10, features: [{ code: 'export', consumed: 20 }] },
  ],
};
const FILE = writeUsageFile(USAGE, privateKey);

function isTaken(file: string): boolean {
  return readUsageFile(file)?.isSigned === true;
}

/** A file whose JSON somebody wrote by hand, signed by the server. */
function craft(text: string): string {
  const signature = sign(null, Buffer.from(text), privateKey).toString('base64');
  return encodeBase64(`{"usage":${text},"signature":"${signature}"}`);
}

describe('a usage file', () => {
  test('is read as it was written', () => {
    assert.deepEqual(readUsageFile(`${FILE}\n`), { usage: USAGE, isSigned: true });
  });

  test('is refused with any flipped bit or truncation', () => {
    for (const damaged of damage(FILE)) assert.ok(!isTaken(damaged), damaged);
  });

  test('of another server is read, but not as signed', () => {
    const other = generateKeyPairSync('ed25519');
    assert.equal(readUsageFile(writeUsageFile(USAGE, other.privateKey))?.isSigned, false);
  });

  test('is signed as it is spelled', () => {
    const text = JSON.stringify(USAGE);
    assert.ok(isTaken(craft(`{"7":1,"3":2,${text.slice(1)}`)));
    assert.ok(isTaken(craft(text.replace('machine-1', '\\u006dachine-1'))));
  });

  for (const [what, from, to] of [
    ['another version', '"schema_version":1', '"schema_version":2'],
    ['the number 0', '"sequence":10', '"sequence":0'],
    ['a fraction', '"sequence":10', '"sequence":10.5'],
    ['a number that is not exact', '"consumed":20', '"consumed":9007199254740993'],
    ['an amount as text', '"consumed":20', '"consumed":"20"'],
    ['no machine', '"machine-1"', '""'],
    ['a machine with terminal escapes in its name', 'machine-1', '\\u001b[2J'],
    ['a feature without a code', '"export"', '""'],
    ['a license without an id', '"license_id":100', '"license_id":0'],
    ['a repeated amount', '"consumed":20', '"consumed":20,"consumed":20'],
  ] as const) {
    test(`${what} is refused`, () => {
      const text = JSON.stringify(USAGE);
      assert.ok(text.includes(from));
      assert.equal(readUsageFile(craft(text.replace(from, to))), null);
    });
  }

  test('anything that is not base64 of JSON is refused', () => {
    for (const file of [
      '',
      '{}',
      encodeBase64('{}'),
      FILE.replace(/=*$/, '') + (FILE.endsWith('=') ? '' : '='),
    ]) {
      assert.equal(readUsageFile(file), null);
    }
  });
});
