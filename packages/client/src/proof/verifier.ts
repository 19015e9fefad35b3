import { BerthError, ProofError } from '../errors.ts';
import type { Fields } from '../read-answer.ts';
import { judgeTerms } from './judge-terms.ts';
import { readBase64, readSigned } from './signed-text.ts';
import { readVendorKeys } from './vendor-keys.ts';

/** What proves a slot. It can be stored. */
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

/** Proves grants with the vendor's public keys: vendor → server → grant. */
export class Verifier {
  readonly #vendorKeys: readonly Promise<CryptoKey>[];

  /** Keys as PEM, as `berth cloud public-key` prints them. */
  constructor(pems: string | readonly string[]) {
    // Only pages that came over TLS or from this machine have it.
    if (globalThis.crypto?.subtle === undefined) {
      const advice = 'Load the page over TLS or from localhost, or leave out "vendorKey".';
      throw new BerthError('invalid_option', 'Nothing can be verified here: there is no Web Crypto.', advice);
    }
    this.#vendorKeys = readVendorKeys(pems).map((bytes) =>
      crypto.subtle.importKey('spki', bytes, RSA, false, ['verify']),
    );
    for (const key of this.#vendorKeys) key.catch(() => {});
  }

  /**
   * Throws a `ProofError` if anything does not fit. Whether the slot has ended is for the caller to judge.
   * `nowMs`: when the certificate must be valid; `null`: only when the grant was issued.
   */
  async verify(
    { grant, certificate, nonce }: Proof,
    expected: Expected,
    nowMs: number | null,
  ): Promise<Grant> {
    const server = await this.#verifyCertificate(certificate);
    const { claims, signed, signature } = readSigned(grant, { alg: 'EdDSA', typ: 'berth-grant+jwt' });
    const key = await importServerKey(server);
    if (!(await crypto.subtle.verify('Ed25519', key, signature, signed))) {
      throw new ProofError('The grant is not signed by the server of the certificate.');
    }
    judge(claims, server, { ...expected, nonce });
    judgeTerms(claims, server);
    const atMs = Math.max(nowMs ?? 0, Date.parse(String(claims.issued_at)));
    if (Date.parse(String(server.expires_at)) > atMs) return claims as Grant;
    throw new ProofError('The certificate has expired.', { code: 'certificate_expired', isRetryable: true });
  }

  /** Whether one of the vendor's keys has signed it. */
  async isOfVendor(certificate: string): Promise<boolean> {
    return this.#verifyCertificate(certificate).then(
      () => true,
      () => false,
    );
  }

  async #verifyCertificate(certificate: string): Promise<Fields> {
    const { claims, signed, signature } = readSigned(certificate, { alg: 'RS256', typ: 'berth-server+jwt' });
    for (const key of this.#vendorKeys) {
      if (await crypto.subtle.verify(RSA, await key, signature, signed)) return claims;
    }
    throw new ProofError('The certificate of the server is not signed by the vendor.');
  }
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
}

/** Servers keep the spelling of a user's first request, where case does not matter to them. */
export function toName(user: unknown): string {
  return String(user).normalize('NFC').trim().toLowerCase();
}
