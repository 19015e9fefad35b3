import { createECDH, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { decodeBase64 } from './canonical-base64.ts';

/**
 * The short codes that people type where no files are allowed: ECDSA over P-256, as base64 of r and s. Any
 * valid signature counts; the library refuses r and s out of range, and points off the curve.
 */
const CURVE = 'prime256v1';
const NUMBER_BYTES = 32;
const CODE_BYTES = 2 * NUMBER_BYTES;

/** How many bytes each code has, for parsing typed codes. */
export const INITIALIZATION_CODE_BYTES = NUMBER_BYTES;
export const SIGNED_CODE_BYTES = CODE_BYTES;

/** The key pair of an initialization code: its bytes are the private number. `null` if that is invalid. */
export function readInitializationCode(code: string): KeyObject | null {
  const scalar = decodeBase64(code);
  return scalar === null || scalar.length !== NUMBER_BYTES ? null : privateKeyOf(scalar);
}

function privateKeyOf(scalar: Buffer): KeyObject | null {
  const ecdh = createECDH(CURVE);
  try {
    ecdh.setPrivateKey(scalar);
  } catch {
    return null;
  }
  const point = ecdh.getPublicKey();
  const jwk = { kty: 'EC', crv: 'P-256', ...coordinates(point.subarray(1)), d: scalar.toString('base64url') };
  return createPrivateKey({ key: jwk, format: 'jwk' });
}

function coordinates(point: Buffer): { readonly x: string; readonly y: string } {
  return {
    x: point.subarray(0, NUMBER_BYTES).toString('base64url'),
    y: point.subarray(NUMBER_BYTES).toString('base64url'),
  };
}

/** Reads a public key from base64 of x and y; `null` if it is not on this curve. */
export function readAirgapPublicKey(text: string): KeyObject | null {
  const point = decodeBase64(text.trim());
  if (point === null || point.length !== CODE_BYTES) return null;
  try {
    return createPublicKey({ key: { kty: 'EC', crv: 'P-256', ...coordinates(point) }, format: 'jwk' });
  } catch {
    return null;
  }
}

/** The reverse, from either half of the pair. */
export function writeAirgapPublicKey(key: KeyObject): string {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  const { x, y } = publicKey.export({ format: 'jwk' }) as { x: string; y: string };
  return Buffer.concat([Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]).toString('base64');
}

interface ActivationFacts {
  readonly hardwareId: string;
  readonly licenseKey: string;
}

/** Proves that the holder of the initialization code has this key on this machine. */
export function makeActivationCode(key: KeyObject, { hardwareId, licenseKey }: ActivationFacts): string {
  return signCode('sha1', key, hardwareId + licenseKey);
}

export function isActivationCode(
  key: KeyObject,
  { hardwareId, licenseKey }: ActivationFacts,
  code: string,
): boolean {
  return isCode('sha1', createPublicKey(key), hardwareId + licenseKey, code);
}

interface ConfirmationFacts extends ActivationFacts {
  readonly policyId: string;
}

/** Proves that the vendor granted this policy to this key on this machine, but not its content. */
export function makeConfirmationCode(
  key: KeyObject,
  { hardwareId, licenseKey, policyId }: ConfirmationFacts,
): string {
  return signCode('sha256', key, hardwareId + licenseKey + policyId);
}

export function isConfirmationCode(
  publicKey: KeyObject,
  { hardwareId, licenseKey, policyId }: ConfirmationFacts,
  code: string,
): boolean {
  return isCode('sha256', publicKey, hardwareId + licenseKey + policyId, code);
}

function signCode(hash: 'sha1' | 'sha256', key: KeyObject, text: string): string {
  return sign(hash, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64');
}

function isCode(hash: 'sha1' | 'sha256', key: KeyObject, text: string, code: string): boolean {
  const bytes = decodeBase64(code);
  if (bytes === null || bytes.length !== CODE_BYTES) return false;
  return verify(hash, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }, bytes);
}
