import { BerthError, ProofError } from '../errors.ts';
import { type Bytes, type Fields, readBase64, readSigned, toBase64Url } from './signed-text.ts';

/** What proves a slot; all of it can be stored. */
export interface Proof {
  readonly grant: string;
  readonly certificate: string;
  readonly nonce: string;
}

/** What the application has asked for. */
interface Expected {
  readonly product: string;
  readonly user: string;
  /** `null`: the slot of the license itself. */
  readonly feature: string | null;
}

/** What a server of the vendor has signed. Further claims are in `docs/grants.md`. */
export interface Grant {
  readonly license_id: number;
  readonly product: string;
  readonly user: string;
  readonly feature: string | null;
  readonly borrowed: boolean;
  readonly limits: Fields;
  readonly features: readonly Fields[];
  readonly issued_at: string;
  readonly valid_until: string;
  readonly [claim: string]: unknown;
}

const RSA = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };

/** Proves grants with the vendor's public key: vendor → server → grant. */
export class Verifier {
  readonly #vendorKey: Promise<CryptoKey>;

  /** The key as PEM, as `berth cloud public-key` prints it. */
  constructor(pem: string) {
    // Only pages that came over TLS or from this machine have it.
    if (globalThis.crypto?.subtle === undefined) {
      const advice = 'Load the page over TLS or from localhost, or leave out "vendorKey".';
      throw new BerthError('invalid_option', 'Nothing can be verified here: there is no Web Crypto.', advice);
    }
    this.#vendorKey = crypto.subtle.importKey('spki', readKey(pem), RSA, false, ['verify']);
    this.#vendorKey.catch(() => {});
  }

  /**
   * Throws a `ProofError` if anything does not fit. Whether the slot has ended is for the caller to judge.
   */
  async verify({ grant, certificate, nonce }: Proof, expected: Expected, nowMs: number): Promise<Grant> {
    const server = await this.#verifyCertificate(certificate);
    const { claims, signed, signature } = readSigned(grant, { alg: 'EdDSA', typ: 'berth-grant+jwt' });
    const key = await importServerKey(server);
    if (!(await crypto.subtle.verify('Ed25519', key, signature, signed))) {
      throw new ProofError('The grant is not signed by the server of the certificate.');
    }
    judge(claims, server, { ...expected, nonce });
    const atMs = Math.max(nowMs, Date.parse(String(claims.issued_at)));
    if (!(Date.parse(String(server.expires_at)) > atMs)) throw new ProofError('The certificate has expired.');
    return claims as Grant;
  }

  async #verifyCertificate(certificate: string): Promise<Fields> {
    const { claims, signed, signature } = readSigned(certificate, { alg: 'RS256', typ: 'berth-server+jwt' });
    const key = await this.#vendorKey;
    if (await crypto.subtle.verify(RSA, key, signature, signed)) return claims;
    throw new ProofError('The certificate of the server is not signed by the vendor.');
  }
}

/** How all RSA public keys of 2048 bits and more begin, after their length. */
const RSA_KEY = /^MII...ANBgkqhkiG9w0BAQEFAAOC/;

/** Throws at once, and not when the first grant is verified. */
function readKey(pem: string): Bytes {
  const text = String(pem).replaceAll(/-----[A-Z ]+-----|\s/g, '');
  try {
    const bytes = readBase64(toBase64Url(text));
    if (RSA_KEY.test(text) && bytes.length === 4 + Number(bytes[2]) * 256 + Number(bytes[3])) return bytes;
  } catch {
    // Said below.
  }
  const advice = 'Give the public key that "berth cloud public-key" prints, as PEM.';
  throw new BerthError('invalid_option', '"vendorKey" is not an RSA public key.', advice);
}

async function importServerKey(server: Fields): Promise<CryptoKey> {
  const { jwk } = (server.cnf ?? {}) as { jwk?: { crv?: string; x?: string } };
  if (typeof jwk?.x !== 'string' || jwk.crv !== 'Ed25519')
    throw new ProofError('The certificate has no key.');
  return crypto.subtle.importKey('raw', readBase64(jwk.x), 'Ed25519', false, ['verify']);
}

function judge(claims: Fields, server: Fields, expected: Expected & { readonly nonce: string }): void {
  for (const name of ['nonce', 'product', 'feature'] as const) {
    if (claims[name] !== expected[name]) throw new ProofError(`The grant is for another ${name}.`);
  }
  if (toName(claims.user) !== toName(expected.user)) throw new ProofError('The grant is for another user.');
  if (claims.hardware_id !== server.hardware_id) throw new ProofError('The grant is of another server.');
  const licenses: unknown = server.license_ids;
  if (!Array.isArray(licenses) || !licenses.includes(claims.license_id)) {
    throw new ProofError('The certificate is not for this license.');
  }
}

/** Servers keep the spelling of a user's first request, where case does not matter to them. */
export function toName(user: unknown): string {
  return String(user).normalize('NFC').trim().toLowerCase();
}
