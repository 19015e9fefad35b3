import { createHmac, hash } from 'node:crypto';

const BLOCK_BYTES = 64;
const HASH_BYTES = 32;

/** Longer texts are left to `createHmac`, which has no copy of them. */
const WORKSPACE_BYTES = 65_536;

const workspace = Buffer.alloc(WORKSPACE_BYTES);

/** A key with the two constants of RFC 2104; the outer one has room for the inner hash behind it. */
interface Pads {
  readonly inner: Uint8Array;
  readonly outer: Buffer;
}

const padsOf = new WeakMap<Uint8Array, Pads>();

/**
 * HMAC-SHA-256 of all parts, one after the other; texts are UTF-8. Computed from two plain hashes: for the
 * short texts of the audit log `createHmac` takes more than twice the time, most of it to make its object.
 * The key must never change.
 */
export function keyedHash(key: Uint8Array, parts: readonly (string | Uint8Array)[]): Uint8Array {
  if (key.length > BLOCK_BYTES || maxBytes(parts) > WORKSPACE_BYTES - BLOCK_BYTES)
    return slowHash(key, parts);
  const { inner, outer } = padsOf.getOrInsertComputed(key, makePads);
  workspace.set(inner);
  let length = BLOCK_BYTES;
  for (const part of parts) {
    if (typeof part === 'string') length += workspace.write(part, length);
    else {
      workspace.set(part, length);
      length += part.length;
    }
  }
  // As texts: a hash as a Buffer costs more than the hash itself.
  outer.write(hash('sha256', workspace.subarray(0, length), 'latin1'), BLOCK_BYTES, 'latin1');
  return toBytes(hash('sha256', outer, 'latin1'));
}

function slowHash(key: Uint8Array, parts: readonly (string | Uint8Array)[]): Uint8Array {
  const hmac = createHmac('sha256', key);
  for (const part of parts) hmac.update(part);
  return new Uint8Array(hmac.digest());
}

/** A character has at most three bytes; half of a surrogate pair too. */
function maxBytes(parts: readonly (string | Uint8Array)[]): number {
  let bytes = 0;
  for (const part of parts) bytes += typeof part === 'string' ? 3 * part.length : part.length;
  return bytes;
}

function makePads(key: Uint8Array): Pads {
  const pad = (size: number, constant: number) => {
    const bytes = Buffer.alloc(size, constant);
    for (const [index, byte] of key.entries()) bytes[index] = byte ^ constant;
    return bytes;
  };
  return { inner: pad(BLOCK_BYTES, 0x36), outer: pad(BLOCK_BYTES + HASH_BYTES, 0x5c) };
}

function toBytes(latin1: string): Uint8Array {
  const bytes = new Uint8Array(HASH_BYTES);
  for (let index = 0; index < HASH_BYTES; index++) bytes[index] = latin1.charCodeAt(index);
  return bytes;
}
