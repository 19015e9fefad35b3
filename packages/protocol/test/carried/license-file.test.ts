import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { damage } from '../../../../test/support/damage.ts';
import { rsaKeysOf } from '../../../../test/support/rsa-keys.ts';
import { encodeBase64 } from '../../src/carried/canonical-base64.ts';
import {
  isVendorFile,
  LicenseFileError,
  readLicenseFile,
  writeLicenseFile,
} from '../../src/carried/license-file.ts';
import { signBytes } from '../../src/cloud/vendor-signature.ts';

const { privateKey, publicKey } = rsaKeysOf('vendor');
const other = rsaKeysOf('stranger');

/** Numbers with zeros, signs, text with escapes and a name like a number: whatever a flip could hide in. */
const FIELDS = {
  id: 1000,
  license_key: 'K-0001',
  hardware_id: 'Machine-1',
  validity_period: null,
  metadata: { '10': -0.5, note: 'a"b\\ü' },
};

const BOTH = writeLicenseFile(FIELDS, privateKey, { withFirst: true });
const NEWER_ALONE = writeLicenseFile(FIELDS, privateKey, { withFirst: false });

function isTaken(file: string): boolean {
  try {
    return isVendorFile(readLicenseFile(file), publicKey);
  } catch (error) {
    assert.ok(error instanceof LicenseFileError, String(error));
    return false;
  }
}

describe('a license file', () => {
  test('is read as it was written, with both signatures or only the newer one', () => {
    for (const file of [BOTH, NEWER_ALONE, `${BOTH}\n`, `\r\n${BOTH} `]) {
      assert.ok(isTaken(file));
      const { license_signature, license_signature_v2, ...fields } = readLicenseFile(file).fields;
      assert.deepEqual(fields, FIELDS);
      assert.equal(typeof license_signature_v2, 'string');
      assert.equal(license_signature === undefined, file === NEWER_ALONE);
    }
  });

  test('of another vendor is refused', () => {
    assert.ok(!isVendorFile(readLicenseFile(BOTH), other.publicKey));
    const mixed = readLicenseFile(writeLicenseFile(FIELDS, other.privateKey, { withFirst: true }));
    assert.ok(!isVendorFile(mixed, publicKey));
  });

  for (const [name, file] of Object.entries({
    'both signatures': BOTH,
    'the newer one alone': NEWER_ALONE,
  })) {
    test(`with ${name}: any flipped bit and any truncation is refused`, () => {
      for (const damaged of damage(file)) assert.ok(!isTaken(damaged), damaged);
    });
  }
});

/** A file whose JSON somebody wrote by hand; `SIGNATURE` stands for the vendor's over `signed`. */
function craft(json: string, signed: string): string {
  return encodeBase64(json.replace('SIGNATURE', signBytes(privateKey, Buffer.from(signed))));
}

describe('what is signed', () => {
  test('is the text, in its own order and spelling, without blanks and signatures', () => {
    const signed = '{"b":1.50,"10":2,"9":"\\u0061","id":3}';
    const json = '{ "b": 1.50, "license_signature_v2": "SIGNATURE", "10": 2, "9": "\\u0061",\n "id": 3 }';
    assert.ok(isTaken(craft(json, signed)));
    assert.ok(!isTaken(craft(json, JSON.stringify(JSON.parse(signed)))), 'and not a text like it');
  });

  test('both signatures count if both are present', () => {
    const signed = '{"id":3,"license_key":"k","hardware_id":"h"}';
    const with1 = (value: string) =>
      craft(
        `{"id":3,"license_key":"k","hardware_id":"h","license_signature":${value},
        "license_signature_v2":"SIGNATURE"}`,
        signed,
      );
    const right = signBytes(privateKey, Buffer.from('h#k#'));
    assert.ok(isTaken(with1(`"${right}"`)));
    assert.ok(isTaken(with1('null')));
    assert.ok(!isTaken(with1('""')));
    assert.ok(!isTaken(with1('1')));
    assert.ok(!isTaken(with1(`"${signBytes(privateKey, Buffer.from('h#j#'))}"`)));
    assert.ok(!isTaken(with1(`" ${right}"`)), 'in canonical base64');
  });

  test('is refused without the newer signature', () => {
    const first = signBytes(privateKey, Buffer.from('h#k#'));
    assert.ok(!isTaken(encodeBase64(`{"license_key":"k","hardware_id":"h","license_signature":"${first}"}`)));
    assert.ok(!isTaken(encodeBase64('{}')));
  });
});

describe('what is not a license file', () => {
  for (const [what, text] of [
    ['no base64', '{"id":1}'],
    ['base64 without its padding', encodeBase64('{"id":1}').replaceAll('=', '')],
    ['no JSON', encodeBase64('id=1')],
    ['a list', encodeBase64('[1]')],
    ['nothing', ''],
    ['the same key twice', encodeBase64('{"id":1,"id":1}')],
    ['a prototype key', encodeBase64('{"__proto__":{}}')],
    ['no UTF-8', encodeBase64(Uint8Array.of(0x7b, 0xff, 0x7d))],
    ['endless nesting', encodeBase64('['.repeat(100_000))],
  ] as const) {
    test(what, () => assert.throws(() => readLicenseFile(text), LicenseFileError));
  }

  test('a megabyte of something', () => {
    assert.ok(!isTaken(encodeBase64(`{"a":"${'x'.repeat(1024 * 1024)}"}`)));
    assert.throws(() => readLicenseFile('A'.repeat(1024 * 1024)), LicenseFileError);
  });
});
