import { generateKeyPairSync } from 'node:crypto';
import { writeCertificate } from '@berth/protocol/grant/server-certificate';
import type { Register } from '../../packages/server/src/core/command.ts';
import { DAY_MS, plus } from '../../packages/server/src/core/nouns/instant.ts';
import type { License } from '../../packages/server/src/core/nouns/license.ts';
import { EMPTY_RULE_SET, type RuleSet } from '../../packages/server/src/core/rules/rule-set.ts';
import { createGrantKeys } from '../../packages/server/src/services/grants/grant-keys.ts';
import { createDataFolder } from '../../packages/server/src/store/folder-access.ts';
import { openDatabase } from '../../packages/server/src/store/postgres/open-database.ts';
import { openDataFolder } from '../../packages/server/src/store/sqlite/data-folder.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { certifiedLicense } from '../support/certified-license.ts';
import { userDigits } from './load/load-plan.ts';

/** A license, and how many of its slots are held when the server starts, by the users 0, 2, 4 and so on. */
export interface Seed {
  readonly license: License;
  readonly held: number;
  /** The vendor has certified the key that signs its grants. */
  readonly isCertified?: boolean;
}

/** As many commands share one commit. */
const CHUNK = 10_000;

/** Fills a data folder, before a server is started on it. */
export async function seedFolder(
  data: string,
  seeds: readonly Seed[],
  rules: RuleSet = EMPTY_RULE_SET,
): Promise<void> {
  await seedAndClose(await openBenchFolder(data), seeds, rules);
}

export async function openBenchFolder(data: string, useThreads = false): Promise<Store> {
  createDataFolder(data);
  const masterKey = { value: null, file: null };
  const store = await openDataFolder({ folder: data, masterKey, onNotice: () => {}, useThreads });
  if (store === null) throw new Error(`${data} is in use.`);
  return store;
}

/** Fills a database, before servers that have the same master key are started on it. */
export async function seedDatabase(
  url: string,
  masterKey: string,
  seeds: readonly Seed[],
  rules: RuleSet = EMPTY_RULE_SET,
): Promise<void> {
  await seedAndClose(await openBenchDatabase(url, masterKey, { isServing: false }), seeds, rules);
}

export function openBenchDatabase(
  url: string,
  masterKey: string,
  options: { readonly isServing: boolean },
): Promise<Store> {
  return openDatabase({
    url,
    masterKey: { value: masterKey, file: '' },
    maxConnections: 4,
    prepareStatements: true,
    version: 'bench',
    onNotice: () => {},
    onNews: () => {},
    ...options,
  });
}

/** Through the store itself. */
async function seedAndClose(store: Store, seeds: readonly Seed[], rules: RuleSet): Promise<void> {
  try {
    for (const { license } of seeds) {
      await store.execute({ kind: 'install_license', license, by: 'bench' });
    }
    if (rules !== EMPTY_RULE_SET) await putRules(store, rules);
    for (const { license, isCertified } of seeds) if (isCertified) await certify(store, license);
    for (const seed of seeds) await fill(store, seed);
  } finally {
    await store.close();
  }
}

export async function putRules(store: Store, rules: RuleSet): Promise<void> {
  await store.execute({ kind: 'set_rules', text: JSON.stringify(rules), rules, by: 'bench' });
}

/** In as many bytes as a vendor's certificate has: the cloud has keys of 3072 bits. */
async function certify(store: Store, license: License): Promise<void> {
  const [{ jwk, kid }] = await createGrantKeys(store, () => 0).list();
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 3072 });
  const { now } = await store.keepClock();
  const dates = { issuedAt: now, expiresAt: plus(now, DAY_MS) };
  const facts = { hardwareId: 'bench', licenses: [certifiedLicense(license)], key: jwk, ...dates };
  const text = writeCertificate(facts, privateKey);
  await store.execute({
    kind: 'certify_license',
    licenseId: license.id,
    certificate: { texts: [text], kid, ...dates },
    by: 'bench',
  });
}

async function fill(store: Store, { license, held }: Seed): Promise<void> {
  for (let start = 0; start < held; start += CHUNK) {
    const size = Math.min(CHUNK, held - start);
    const commands = Array.from({ length: size }, (_, index) => registerUser(license, 2 * (start + index)));
    const outcomes = await Promise.all(commands.map((command) => store.execute(command)));
    if (outcomes.some(({ kind }) => kind !== 'granted')) throw new Error('A seeded user was refused.');
  }
}

/** As the requests of the load do, so that they renew the slot and change nothing else. */
export function registerUser({ product }: License, user: number): Register {
  const digits = userDigits(user);
  const host = { hostname: `host-${digits}.example.com`, address: '192.0.2.17', info: null };
  const by = { name: 'client', address: '127.0.0.1' };
  return { kind: 'register', product, licenseId: null, user: `user-${digits}`, host, by };
}
