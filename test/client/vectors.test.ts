import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { describeAddresses, readAddress } from '../../packages/client/src/address.ts';
import { markOf } from '../../packages/client/src/device.ts';
import { hmacSha256, sha256 } from '../../packages/client/src/sha256.ts';
import { encodePart } from '../../packages/client/src/storage-name.ts';

interface Vectors {
  readonly marks: readonly { readonly product: string; readonly identifier: string; readonly mark: string }[];
  readonly bindings: readonly { readonly addresses: readonly string[]; readonly binding: string }[];
  readonly parts: readonly { readonly text: string; readonly encoded: string }[];
}

const FILE = new URL('../../clients/vectors.json', import.meta.url);
const { marks, bindings, parts } = JSON.parse(readFileSync(FILE, 'utf8')) as Vectors;

test('marks, bindings and names are those of the clients in other languages', () => {
  for (const { product, identifier, mark } of marks) assert.equal(markOf(product, identifier), mark);
  for (const { addresses, binding } of bindings) {
    assert.equal(describeAddresses(addresses.map(readAddress)), binding);
  }
  for (const { text, encoded } of parts) assert.equal(encodePart(text), encoded);
});

test('a mark is an HMAC, and nothing of what identifies the computer', () => {
  const [first] = marks;
  assert.ok(first);
  const key = `berth device mark\n${first.product}`;
  assert.equal(first.mark, createHmac('sha256', key).update(first.identifier).digest('base64url'));
});

test('hashes of any length are right', () => {
  for (let length = 0; length < 200; length++) {
    const bytes = Buffer.alloc(length, `${length} bytes`);
    assert.deepEqual(Buffer.from(sha256(bytes)), createHash('sha256').update(bytes).digest());
    assert.deepEqual(
      Buffer.from(hmacSha256(bytes, bytes)),
      createHmac('sha256', bytes).update(bytes).digest(),
    );
  }
});
