import assert from 'node:assert/strict';
import { createECDH, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, test } from 'node:test';
import { cutShort, flipBits } from '../../../../test/support/damage.ts';
import {
  isActivationCode,
  isConfirmationCode,
  makeActivationCode,
  makeConfirmationCode,
  readAirgapPublicKey,
  readInitializationCode,
  writeAirgapPublicKey,
} from '../../src/carried/airgap-codes.ts';

/** How many points the curve has: private numbers, r and s are from 1 to one less. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

function bytesOf(number: bigint): Buffer {
  return Buffer.from(number.toString(16).padStart(64, '0'), 'hex');
}

function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

const CODE = bytesOf(ORDER / 3n).toString('base64');
const KEY = readInitializationCode(CODE) as KeyObject;
const FACTS = { hardwareId: 'machine-1', licenseKey: 'K-0001' };
const vendor = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const POLICY = { ...FACTS, policyId: '1001' };

describe('an initialization code', () => {
  test('is a private number of the curve', () => {
    for (const number of [1n, 2n, ORDER - 1n]) {
      const key = readInitializationCode(bytesOf(number).toString('base64')) as KeyObject;
      const { d } = key.export({ format: 'jwk' });
      assert.equal(numberOf(Buffer.from(d as string, 'base64url')), number);
      const ecdh = createECDH('prime256v1');
      ecdh.setPrivateKey(bytesOf(number));
      const point = ecdh.getPublicKey().subarray(1).toString('base64');
      assert.equal(writeAirgapPublicKey(key), point, 'with the public half that belongs to it');
    }
  });

  test('cannot be 0, nor as large as the order, nor of another length or spelling', () => {
    for (const number of [0n, ORDER, ORDER + 1n, 2n ** 256n - 1n]) {
      assert.equal(readInitializationCode(bytesOf(number).toString('base64')), null, String(number));
    }
    const others = [Buffer.alloc(0), Buffer.alloc(31, 1), Buffer.alloc(33, 1), Buffer.alloc(64, 1)];
    for (const bytes of others) assert.equal(readInitializationCode(bytes.toString('base64')), null);
    for (const text of [CODE.replaceAll('=', ''), ` ${CODE}`, `${CODE}\n`, 'x']) {
      assert.equal(readInitializationCode(text), null, text);
    }
  });
});

/** Codes until both halves of all signatures were seen: genuine ones have a high s as often as a low one. */
function seeBothHalves(make: () => string): readonly string[] {
  const [low, high]: [string[], string[]] = [[], []];
  for (let made = 0; made < 200 && (low.length === 0 || high.length === 0); made++) {
    const code = make();
    const s = numberOf(Buffer.from(code, 'base64').subarray(32));
    (s > ORDER / 2n ? high : low).push(code);
  }
  assert.ok(low.length > 0 && high.length > 0);
  return [low[0] as string, high[0] as string];
}

/** The other signature over the same: just as valid. */
function mirror(code: string): string {
  const bytes = Buffer.from(code, 'base64');
  const s = bytesOf(ORDER - numberOf(bytes.subarray(32)));
  return Buffer.concat([bytes.subarray(0, 32), s]).toString('base64');
}

for (const [name, make, check] of [
  [
    'an activation code',
    () => makeActivationCode(KEY, FACTS),
    (code: string) => isActivationCode(KEY, FACTS, code),
  ],
  [
    'a confirmation code',
    () => makeConfirmationCode(vendor.privateKey, POLICY),
    (code: string) => isConfirmationCode(vendor.publicKey, POLICY, code),
  ],
] as const) {
  describe(name, () => {
    test('counts with a low s and with a high one', () => {
      for (const code of seeBothHalves(make)) {
        assert.ok(check(code));
        assert.ok(check(mirror(code)));
      }
    });

    test('no flipped bit and no truncation counts', () => {
      const code = make();
      for (const flipped of flipBits(code)) assert.ok(!check(flipped.toString()), flipped.toString());
      for (const short of cutShort(code)) assert.ok(!check(short), short);
      const bytes = Buffer.from(code, 'base64');
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        const flipped = Buffer.from(bytes);
        flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
        assert.ok(!check(flipped.toString('base64')), `bit ${bit}`);
      }
    });

    test('r and s are from 1 to one less than the order', () => {
      const code = Buffer.from(make(), 'base64');
      const [r, s] = [numberOf(code.subarray(0, 32)), numberOf(code.subarray(32))];
      const wrong = [0n, ORDER, ORDER + 1n, 2n ** 256n - 1n];
      const pairs = [...wrong.map((one) => [one, s]), ...wrong.map((one) => [r, one]), [0n, 0n]];
      // What is the same modulo the order, where it fits into 32 bytes, is not the same code.
      for (const [a, b] of [
        [r + ORDER, s],
        [r, s + ORDER],
      ] as const) {
        if (a < 2n ** 256n && b < 2n ** 256n) pairs.push([a, b]);
      }
      for (const [a, b] of pairs) {
        const bytes = Buffer.concat([bytesOf(a as bigint), bytesOf(b as bigint)]);
        assert.equal(check(bytes.toString('base64')), false, `${a} ${b}`);
      }
    });

    test('is base64 in its canonical form, of 64 bytes', () => {
      const code = make();
      for (const text of [code.replaceAll('=', ''), ` ${code}`, `${code}\n`, `${code}AAAA`, '', 'x']) {
        assert.ok(!check(text), text);
      }
      const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
      const same = [...letters].filter((letter) => check(`${code.slice(0, 85)}${letter}==`));
      assert.deepEqual(same, [code[85]], 'the bits behind the last byte say nothing, and must');
    });

    test('is not accepted in DER', () => {
      const der = sign('sha256', Buffer.from('x'), vendor.privateKey).toString('base64');
      assert.ok(!check(der));
    });
  });
}

describe('what a code is for', () => {
  test('an activation code: the machine, the license key and the initialization code', () => {
    const code = makeActivationCode(KEY, FACTS);
    assert.ok(!isActivationCode(KEY, { ...FACTS, hardwareId: 'machine-2' }, code));
    assert.ok(!isActivationCode(KEY, { ...FACTS, licenseKey: 'K-0002' }, code));
    const other = readInitializationCode(Buffer.alloc(32, 1).toString('base64')) as KeyObject;
    assert.ok(!isActivationCode(other, FACTS, code));
  });

  test('a confirmation code: the policy, too, and the key of the vendor', () => {
    const code = makeConfirmationCode(vendor.privateKey, POLICY);
    for (const other of [{ hardwareId: 'x' }, { licenseKey: 'x' }, { policyId: '1002' }]) {
      assert.ok(!isConfirmationCode(vendor.publicKey, { ...POLICY, ...other }, code));
    }
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    assert.ok(!isConfirmationCode(stranger.publicKey, POLICY, code));
  });

  test('one cannot replace the other', () => {
    const facts = { ...FACTS, policyId: '' };
    assert.ok(!isConfirmationCode(createPublicKey(KEY), facts, makeActivationCode(KEY, FACTS)));
    assert.ok(!isActivationCode(KEY, FACTS, makeConfirmationCode(KEY, facts)));
  });
});

describe('the public key for confirmations', () => {
  const text = writeAirgapPublicKey(vendor.privateKey);

  test('is base64 of x and y, of either half of the pair', () => {
    assert.equal(Buffer.from(text, 'base64').length, 64);
    assert.equal(writeAirgapPublicKey(vendor.publicKey), text);
    const key = readAirgapPublicKey(` ${text}\n`) as KeyObject;
    assert.ok(key.equals(vendor.publicKey));
  });

  test('keeps zeros in front of its numbers', () => {
    for (let made = 0; made < 2000; made++) {
      const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const bytes = Buffer.from(writeAirgapPublicKey(publicKey), 'base64');
      assert.equal(bytes.length, 64);
      if (bytes[0] === 0 || bytes[32] === 0) return;
    }
    assert.fail('No such key was found.');
  });

  test('of another curve is refused, though it has the same length', () => {
    for (let made = 0; made < 20; made++) {
      const ecdh = createECDH('secp256k1');
      assert.equal(readAirgapPublicKey(ecdh.generateKeys().subarray(1).toString('base64')), null);
    }
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
    const { x, y } = publicKey.export({ format: 'jwk' });
    const point = Buffer.concat([
      Buffer.from(x as string, 'base64url'),
      Buffer.from(y as string, 'base64url'),
    ]);
    assert.equal(readAirgapPublicKey(point.toString('base64')), null);
  });

  test('is refused with any flipped bit, truncation or other spelling', () => {
    const bytes = Buffer.from(text, 'base64');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      assert.equal(readAirgapPublicKey(flipped.toString('base64')), null, `bit ${bit} leaves the curve`);
    }
    for (const short of cutShort(text)) assert.equal(readAirgapPublicKey(short), null);
    assert.equal(readAirgapPublicKey(Buffer.alloc(64).toString('base64')), null);
    assert.equal(readAirgapPublicKey(Buffer.concat([Buffer.of(4), bytes]).toString('base64')), null);
    const longer = [bytes.subarray(0, 32), Buffer.of(0), bytes.subarray(32)];
    assert.equal(readAirgapPublicKey(Buffer.concat(longer).toString('base64')), null);
  });
});
