import { createPublicKey } from 'node:crypto';
import { readLicenseFile } from '@berth/protocol/carried/license-file';
import { readGrantKey } from '@berth/protocol/carried/typed-code';
import { type OkpJwk, readOkpKey } from '@berth/protocol/grant/jws';
import { readCertificate } from '@berth/protocol/grant/server-certificate';
import type { Licensed } from '../../core/decision.ts';
import { type Refusal, refuse } from '../../core/refusal.ts';
import type { CloudStore } from '../cloud-store.ts';
import { findGrantKey } from '../keys/certificates.ts';
import type { SigningKeys } from '../keys/key-ring.ts';

/** A grant key as a person typed or copied it. */
export function readKey(text: string): OkpJwk | Refusal {
  const x = readGrantKey(text);
  const fault = typeof x === 'string' ? '' : ` ${x.fault}`;
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: typeof x === 'string' ? x : '' } as const;
  if (readOkpKey(jwk) !== null) return jwk;
  const remedy = '"berth identity" on the server shows it.';
  return refuse('validation_error', `The grant key is mistyped.${fault} ${remedy}`);
}

/** The certificates in a policy file. */
export function certificatesOf(policyFile: string): readonly string[] {
  const { server_certificates: texts } = readLicenseFile(policyFile).fields;
  return (texts as readonly string[] | undefined) ?? [];
}

/** The key that the certificate in a policy file is for; `null` if it has none of this vendor. */
export function findKeyInPolicy(policyFile: string, { all }: SigningKeys): OkpJwk | null {
  for (const text of certificatesOf(policyFile)) {
    const read = all.map((key) => readCertificate(text, createPublicKey(key))).find((one) => one !== null);
    if (read !== undefined) return read?.key ?? null;
  }
  return null;
}

/**
 * The newest grant key of the server on a machine: the one that came with its codes, which speaks for that
 * license only, or one that is known for the machine. Call only inside a transaction.
 */
export function findKeyOfMachine(
  store: CloudStore,
  { license, hardwareId }: Licensed,
  signingKeys: SigningKeys,
): OkpJwk | null {
  const known = store.sql.findGrantKey.get(hardwareId);
  const row = store.sql.findAirgapActivation.get(license.id, hardwareId);
  const isNewer = Number(known?.learned_at ?? 0) > Number(row?.confirmed_at ?? 0);
  if (row === undefined || isNewer) return findGrantKey(store, hardwareId);
  return findKeyInPolicy(row.policy_file as string, signingKeys) ?? findGrantKey(store, hardwareId);
}
