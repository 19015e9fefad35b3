import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { before, describe, test } from 'node:test';
import type { SealedText } from '@berth/shell/files/passphrase-seal';
import * as real from '../../src/secrets/key-export.ts';
import { makeMasterKey } from '../../src/secrets/master-key.ts';
import { SealError } from '../../src/secrets/seal.ts';

const PASSPHRASE = 'correct horse — Batterie';
const content = { masterKey: makeMasterKey(), identity: 'store-1' };
/** Key derivation is slow on purpose. */
const stretchQuickly = async (passphrase: string, salt: Buffer) =>
  hash('sha256', passphrase + salt.toString('hex'), 'buffer');
const sealExport = (secret: typeof content, passphrase: string) =>
  real.sealExport(secret, passphrase, stretchQuickly);
const openExport = (text: string, passphrase: string) => real.openExport(text, passphrase, stretchQuickly);
let sealed: SealedText;
before(async () => {
  sealed = await sealExport(content, PASSPHRASE);
});

function says(pattern: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof SealError && pattern.test(error.message);
}

const isDamaged = says(/^The key cannot be opened: the file is damaged\./);
const isWrong = says(/^The key cannot be opened: the passphrase is wrong\.$/);
const isNone = says(/^The file does not contain a key export\./);

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

  test('says how it was made, and nothing of what it holds', async () => {
    const sealed = await real.sealExport(content, PASSPHRASE);
    assert.deepEqual(await real.openExport(JSON.stringify(sealed), PASSPHRASE), content);
    await assert.rejects(real.openExport(JSON.stringify(sealed), 'another one'), isWrong);
    await assert.rejects(openExport(JSON.stringify(sealed), PASSPHRASE), isWrong, 'it takes the slow one');
    const { salt, nonce, sealed: ciphertext, checksum, ...rest } = sealed;
    assert.match(checksum ?? '', /^[0-9a-f]{64}$/);
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
      await assert.rejects(openExport(JSON.stringify(sealed), wrong), isWrong, wrong);
    }
  });

  const DAMAGED: Readonly<Record<string, () => string>> = {
    'cut short': () => JSON.stringify(sealed).slice(0, -10),
    'of no version': () => change({ version: undefined }),
    'with a cost of its own': () => change({ kdf: { ...sealed.kdf, n: 2 ** 30 } }),
    'without a salt': () => change({ salt: undefined }),
    'with another salt': () => change({ salt: flip(sealed.salt, 0) }),
    'with another nonce': () => change({ nonce: flip(sealed.nonce, 0) }),
    'with a number for a nonce': () => change({ nonce: 7 }),
    'with another tag': () => change({ sealed: flip(sealed.sealed, 0) }),
    'with another ciphertext': () =>
      change({ sealed: flip(sealed.sealed, Buffer.from(sealed.sealed, 'base64').length - 1) }),
    'with a sealed text that is no base64': () => change({ sealed: `${sealed.sealed}!` }),
    'with an empty sealed text': () => change({ sealed: '' }),
  };
  for (const [title, make] of Object.entries(DAMAGED)) {
    test(`that is ${title} is called damaged`, async () => {
      await assert.rejects(openExport(make(), PASSPHRASE), isDamaged);
    });
  }

  test('of a newer Berth is called that, however it is sealed', async () => {
    const newer = change({ version: 2, kdf: { name: 'argon2id' }, salt: undefined });
    const isNewer = says(
      /a newer Berth has sealed it \(format 2; this one knows 1\)\. Import .* that version/,
    );
    await assert.rejects(openExport(newer, PASSPHRASE), isNewer);
  });

  test('is not found in other text', async () => {
    const long = JSON.stringify({ ...sealed, padding: 'x'.repeat(20_000) });
    for (const text of ['key', 'null', '', '{}', change({ format: 'something else' }), long]) {
      await assert.rejects(openExport(text, PASSPHRASE), isNone, text.slice(0, 20));
    }
  });

  const BANNER = '\n> berth@0.1.0 berth\n> node packages/server/src/main.ts key export\n\n';
  const NOISY: Readonly<Record<string, () => string>> = {
    "npm's lines before it": () => `${BANNER}${JSON.stringify(sealed)}\n`,
    "npm's lines before it and others after it": () =>
      `${BANNER}${JSON.stringify(sealed)}\nnpm notice done\n\n`,
    'lines around several lines': () => `${BANNER}${JSON.stringify(sealed, null, 2)}\nnpm notice done\n`,
    'line ends of Windows': () => `${BANNER}${JSON.stringify(sealed, null, 2)}\n`.replaceAll('\n', '\r\n'),
    'the mark of a byte order': () => `\uFEFF${JSON.stringify(sealed)}`,
    'a line with braces before it': () => `{"level": "info"}\n${JSON.stringify(sealed)}\n`,
  };
  for (const [title, make] of Object.entries(NOISY)) {
    test(`is found among ${title}`, async () => {
      const text = make();
      assert.deepEqual(await openExport(text, PASSPHRASE), content);
      await assert.rejects(openExport(text, 'another one'), isWrong);
    });
  }

  test('must be the only one', async () => {
    const two = `${JSON.stringify(sealed)}\n${change({ salt: flip(sealed.salt, 0) })}\n`;
    await assert.rejects(openExport(two, PASSPHRASE), says(/more than one export/));
  });
});
