import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { MAX_LICENSE_BYTES } from '../carried/license-size.ts';
import { JsonTextError, parseJsonText } from '../json-text.ts';

/** How a text is signed: by a server with its Ed25519 key, or by the vendor with the RSA key of its cloud. */
type JwsAlgorithm = 'EdDSA' | 'RS256';

/** A public Ed25519 key as RFC 8037 writes it. */
export interface OkpJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  /** 32 bytes in base64url. */
  readonly x: string;
}

export function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/**
 * A compact JWS (RFC 7515). Signs at once; the server signs grants in other threads. What is signed is not
 * JSON and has no `#`, so no other signature of the vendor passes as one, and no JWS as another signature.
 */
export function writeJws(
  { alg, typ, ...more }: { readonly alg: JwsAlgorithm; readonly typ: string; readonly jwk?: OkpJwk },
  claims: object,
  privateKey: KeyObject,
): string {
  const input = `${base64url(JSON.stringify({ alg, typ, ...more }))}.${base64url(JSON.stringify(claims))}`;
  const signature = sign(alg === 'RS256' ? 'sha256' : null, Buffer.from(input), privateKey);
  return `${input}.${signature.toString('base64url')}`;
}

interface ReadJws {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Whether the private half of this key has signed it, with the algorithm of that key. */
  isSignedBy(publicKey: KeyObject): boolean;
}

/** Longer ones are not ours. A certificate names every feature of its license, like the license itself. */
const MAX_CHARACTERS = MAX_LICENSE_BYTES;

const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** Returns null if the text is not a compact JWS of this type, in canonical base64url. Verifies nothing. */
export function readJws(text: string, alg: JwsAlgorithm, typ: string): ReadJws | null {
  if (text.length > MAX_CHARACTERS || !COMPACT.test(text)) return null;
  const parts = text.split('.').map((part) => Buffer.from(part, 'base64url'));
  const [head, body, signature] = parts as [Buffer, Buffer, Buffer];
  if (parts.map((bytes) => bytes.toString('base64url')).join('.') !== text) return null;
  const header = parseObject(head);
  const claims = parseObject(body);
  if (header === null || claims === null || header.alg !== alg || header.typ !== typ) return null;
  // It names what a reader must understand, and there is nothing of this kind yet.
  if ('crit' in header) return null;
  const input = Buffer.from(text.slice(0, text.lastIndexOf('.')));
  const [digest, keyType] = alg === 'RS256' ? ['sha256', 'rsa'] : [null, 'ed25519'];
  return {
    header,
    claims,
    isSignedBy: (key) => key.asymmetricKeyType === keyType && verify(digest as string, input, key, signature),
  };
}

function parseObject(bytes: Buffer): Readonly<Record<string, unknown>> | null {
  try {
    const value = parseJsonText(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch (error) {
    if (error instanceof JsonTextError || error instanceof TypeError) return null;
    throw error;
  }
}

/** The public half of an Ed25519 key. */
export function okpJwkOf(key: KeyObject): OkpJwk {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  const { x = '' } = publicKey.export({ format: 'jwk' });
  return { kty: 'OKP', crv: 'Ed25519', x };
}

const X = /^[A-Za-z0-9_-]{43}$/;

/** Returns null if it is not a public Ed25519 key. */
export function readOkpKey(jwk: unknown): KeyObject | null {
  const { kty, crv, x } = (jwk ?? {}) as Partial<Record<keyof OkpJwk, unknown>>;
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string' || !X.test(x)) return null;
  if (Buffer.from(x, 'base64url').toString('base64url') !== x) return null;
  try {
    return createPublicKey({ key: { kty, crv, x }, format: 'jwk' });
  } catch {
    return null;
  }
}

/** Names a key: its thumbprint by RFC 7638. */
export function thumbprintOf({ crv, kty, x }: OkpJwk): string {
  return createHash('sha256').update(JSON.stringify({ crv, kty, x })).digest('base64url');
}
