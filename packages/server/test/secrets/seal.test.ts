import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  fingerprint,
  fingerprintOfSeal,
  type MasterKey,
  SealError,
  seal,
  secretFingerprint,
  unseal,
  unsealWithAny,
} from '../../src/secrets/seal.ts';

function makeKey(): MasterKey {
  return Uint8Array.from(randomBytes(32)) as MasterKey;
}

const SECRET = Buffer.from('a secret that must not be read');

describe('a sealed secret', () => {
  test('opens with its key and under its name', () => {
    const key = makeKey();
    assert.deepEqual(Buffer.from(unseal(key, 'audit', seal(key, 'audit', SECRET))), SECRET);
    assert.equal(unseal(key, 'audit', seal(key, 'audit', new Uint8Array())).length, 0);
  });

  test('shows nothing of what it holds, and is never the same twice', () => {
    const key = makeKey();
    const [one, two] = [seal(key, 'audit', SECRET), seal(key, 'audit', SECRET)];
    assert.notDeepEqual(one, two);
    assert.ok(!Buffer.from(one).includes(SECRET));
    assert.ok(!Buffer.from(one).includes(Buffer.from(key)));
  });

  test('does not open under another name', () => {
    const key = makeKey();
    assert.throws(() => unseal(key, 'identity', seal(key, 'audit', SECRET)), SealError);
  });

  test('does not open with another key, and both fingerprints are named', () => {
    const [key, other] = [makeKey(), makeKey()];
    const sealed = seal(key, 'audit', SECRET);
    assert.throws(
      () => unseal(other, 'audit', sealed),
      (error: Error) =>
        error instanceof SealError &&
        error.message.includes(fingerprint(key)) &&
        error.message.includes(fingerprint(other)),
    );
  });

  test('of a newer Berth is called that, with any key', () => {
    const newer = Uint8Array.from(seal(makeKey(), 'audit', SECRET));
    newer[0] = 2;
    assert.throws(
      () => unsealWithAny([makeKey()], 'audit', newer),
      /^Error: A newer Berth has sealed the secret "audit" \(format 2; this one knows 1\)\. Start that/,
    );
  });

  test('does not open when any byte of it was changed', () => {
    const key = makeKey();
    const sealed = seal(key, 'audit', SECRET);
    for (let index = 0; index < sealed.length; index++) {
      const changed = Uint8Array.from(sealed);
      changed[index] = (changed[index] as number) ^ 1;
      assert.throws(() => unseal(key, 'audit', changed), SealError, `byte ${index}`);
    }
  });

  test('does not open when it was truncated anywhere', () => {
    const key = makeKey();
    const sealed = seal(key, 'audit', SECRET);
    for (let length = 0; length < sealed.length; length++) {
      assert.throws(() => unseal(key, 'audit', sealed.slice(0, length)), SealError, `${length} bytes`);
    }
  });
});

describe('one of several keys', () => {
  test('opens it, in any position', () => {
    const [one, two, three] = [makeKey(), makeKey(), makeKey()];
    const sealed = seal(two, 'audit', SECRET);
    assert.equal(fingerprintOfSeal(sealed), fingerprint(two));
    for (const keys of [[two], [one, two], [two, one], [one, two, three]]) {
      assert.deepEqual(Buffer.from(unsealWithAny(keys, 'audit', sealed)), SECRET);
    }
    assert.throws(() => unsealWithAny([one, three], 'audit', sealed), new RegExp(fingerprint(two)));
    assert.throws(() => unsealWithAny([], 'audit', sealed), SealError);
    assert.throws(() => unsealWithAny([one, two], 'identity', sealed), SealError);
  });
});

describe('a fingerprint', () => {
  test('of a secret is short, and differs by label', () => {
    assert.match(secretFingerprint('cloud_api_key', 'x'), /^[0-9a-f]{8}$/);
    assert.equal(secretFingerprint('a', 'x'), secretFingerprint('a', 'x'));
    assert.notEqual(secretFingerprint('a', 'x'), secretFingerprint('b', 'x'));
    assert.notEqual(secretFingerprint('a', 'x'), secretFingerprint('a', 'y'));
  });

  test('distinguishes keys and stays the same', () => {
    const key = Uint8Array.from(Buffer.alloc(32, 7)) as MasterKey;
    assert.match(fingerprint(key), /^[0-9a-f]{16}$/);
    assert.equal(fingerprint(key), fingerprint(Uint8Array.from(key) as MasterKey));
    assert.notEqual(fingerprint(key), fingerprint(makeKey()));
  });
});
