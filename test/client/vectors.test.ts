import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { describeAddresses, readAddress } from '../../packages/client/src/address.ts';
import { markOf } from '../../packages/client/src/device.ts';
import { readSigned } from '../../packages/client/src/proof/signed-text.ts';
import { hmacSha256, sha256 } from '../../packages/client/src/sha256.ts';
import { encodePart } from '../../packages/client/src/storage-name.ts';
import { base64url, readJws } from '../../packages/protocol/src/grant/jws.ts';

interface Vectors {
  readonly marks: readonly { readonly product: string; readonly identifier: string; readonly mark: string }[];
  readonly bindings: readonly { readonly addresses: readonly string[]; readonly binding: string }[];
  readonly parts: readonly { readonly text: string; readonly encoded: string }[];
  readonly headers: readonly { readonly header: string; readonly is_grant: boolean }[];
}

const FILE = new URL('../../clients/vectors.json', import.meta.url);
const { marks, bindings, parts, headers } = JSON.parse(readFileSync(FILE, 'utf8')) as Vectors;

test('marks, bindings and names are those of the clients in other languages', () => {
  for (const { product, identifier, mark } of marks) assert.equal(markOf(product, identifier), mark);
  for (const { addresses, binding } of bindings) {
    assert.equal(describeAddresses(addresses.map(readAddress)), binding);
  }
  for (const { text, encoded } of parts) assert.equal(encodePart(text), encoded);
});

test('only what every reader understands is read as a grant, by clients and servers', () => {
  const [alg, typ] = ['EdDSA', 'berth-grant+jwt'] as const;
  for (const { header, is_grant: isGrant } of headers) {
    const text = `${base64url(header)}.${base64url('{}')}.AAAA`;
    assert.equal(readJws(text, alg, typ) !== null, isGrant, header);
    const read = () => readSigned(text, { alg, typ });
    if (isGrant) assert.deepEqual(read().claims, {}, header);
    else assert.throws(read, { code: 'not_proven' }, header);
  }
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
