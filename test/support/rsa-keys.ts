import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';

const OWNERS = ['vendor', 'next vendor', 'cloud', 'provider', 'stranger'] as const;

export type Owner = (typeof OWNERS)[number];

export interface RsaKeys {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** The private key of every owner, in PEM. */
export function makeRsaKeys(): Readonly<Record<Owner, string>> {
  const pems = OWNERS.map((owner) => [owner, makePem()]);
  return Object.fromEntries(pems);
}

function makePem(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** The runner keeps them for all processes, because each takes a tenth of a second to make. */
const { TEST_RSA_KEYS } = process.env;
const made: Partial<Record<Owner, string>> =
  TEST_RSA_KEYS === undefined ? {} : JSON.parse(readFileSync(TEST_RSA_KEYS, 'utf8'));
const known = new Map<Owner, RsaKeys>();

/** The same keys whenever the same owner is asked for. */
export function rsaKeysOf(owner: Owner): RsaKeys {
  return known.getOrInsertComputed(owner, () => {
    const privateKey = createPrivateKey(made[owner] ?? makePem());
    return { privateKey, publicKey: createPublicKey(privateKey) };
  });
}
