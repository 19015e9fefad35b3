import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type KeyExport, openExport, sealExport } from './key-export.ts';
import { makeMasterKey } from './master-key.ts';
import { SealError } from './seal.ts';

const PASSPHRASE = 'correct horse — Batterie';
const content = { masterKey: makeMasterKey(), identity: 'store-1' };
const sealed = await sealExport(content, PASSPHRASE);

function isNotOpened(error: unknown): boolean {
  return (
    error instanceof SealError &&
    error.message === 'The export cannot be opened: the passphrase is wrong, or the file is damaged.'
  );
}

function change(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ...sealed, ...fields });
}

function flip(text: string, index: number): string {
  const bytes = Buffer.from(text, 'base64');
  bytes[index] = (bytes[index] as number) ^ 1;
  return bytes.toString('base64');
}

describe('an export', () => {
  test('opens with its passphrase, however its accents are written', async () => {
    assert.deepEqual(await openExport(JSON.stringify(sealed), PASSPHRASE), content);
    const accented = await sealExport(content, 'passphrasé');
    assert.deepEqual(await openExport(`${JSON.stringify(accented, null, 2)}\n`, 'passphrase\u0301'), content);
  });

  test('says how it was made, and nothing of what it holds', () => {
    const { salt, nonce, sealed: ciphertext, ...rest } = sealed;
    const kdf = { name: 'scrypt', n: 131_072, r: 8, p: 1 };
    assert.deepEqual(rest, { format: 'berth key export', version: 1, kdf });
    const text = JSON.stringify(sealed);
    for (const form of ['hex', 'base64'] as const) {
      assert.ok(!text.includes(Buffer.from(content.masterKey).toString(form)));
    }
    assert.ok(!text.includes(content.identity));
    assert.ok(salt !== nonce && ciphertext.length > 100);
  });

  test('opens with no other passphrase', async () => {
    for (const wrong of ['', PASSPHRASE.toUpperCase(), `${PASSPHRASE} `]) {
      await assert.rejects(openExport(JSON.stringify(sealed), wrong), isNotOpened, wrong);
    }
  });

  const last = Buffer.from(sealed.sealed, 'base64').length - 1;
  const DAMAGED: Readonly<Record<string, string>> = {
    'cut short': JSON.stringify(sealed).slice(0, -10),
    'no JSON': 'key',
    'no object': 'null',
    empty: '',
    'far too long': JSON.stringify({ ...sealed, padding: 'x'.repeat(20_000) }),
    'of another format': change({ format: 'something else' }),
    'of another version': change({ version: 2 }),
    'with a cost of its own': change({ kdf: { ...(sealed as KeyExport).kdf, n: 2 ** 30 } }),
    'without a salt': change({ salt: undefined }),
    'with another salt': change({ salt: flip(sealed.salt, 0) }),
    'with another nonce': change({ nonce: flip(sealed.nonce, 0) }),
    'with a number for a nonce': change({ nonce: 7 }),
    'with another tag': change({ sealed: flip(sealed.sealed, 0) }),
    'with another ciphertext': change({ sealed: flip(sealed.sealed, last) }),
    'with a sealed text that is no base64': change({ sealed: `${sealed.sealed}!` }),
    'with an empty sealed text': change({ sealed: '' }),
  };
  for (const [title, text] of Object.entries(DAMAGED)) {
    test(`that is ${title} is refused with the same sentence`, async () => {
      await assert.rejects(openExport(text, PASSPHRASE), isNotOpened);
    });
  }
});
