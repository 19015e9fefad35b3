import type { MasterKeySource } from '../../../secrets/master-key.ts';
import type { VerifyingKeys } from '../../engine/audit/signature-check.ts';
import { AUDIT_KEY, IDENTITY_KEY } from '../../engine/sealed-secrets.ts';
import type { StoreContents } from '../../store-copy.ts';
import { readTargets, takeMasterKey } from '../open-database.ts';
import { verifyAudit } from '../read/verify-audit.ts';
import { type Ask, askOver } from '../wire/ask.ts';
import type { Connection } from '../wire/connection.ts';
import { Hosts } from '../wire/hosts.ts';
import { listSecrets, openSecret } from '../wire/sealed-secrets.ts';
import { countRows, readHead } from './copied-rows.ts';

export interface CopyOptions {
  readonly url: string;
  readonly masterKey: MasterKeySource;
  readonly prepareStatements: boolean;
}

/** One connection, whose one transaction reads or writes everything. */
export interface CopyConnection extends StoreContents {
  readonly connection: Connection;
  readonly ask: Ask;
  readKeys(): Promise<VerifyingKeys>;
}

const CONNECT_TIMEOUT_MS = 5000;
/** It walks the whole audit log. */
const ANSWER_TIMEOUT_MS = 15 * 60_000;

export async function connectForCopy(options: CopyOptions): Promise<CopyConnection> {
  const targets = readTargets(options.url);
  const hosts = new Hosts(targets);
  const connection = await hosts.open({
    target: targets[0],
    prepareStatements: options.prepareStatements,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    answerTimeoutMs: ANSWER_TIMEOUT_MS,
  });
  const ask = askOver(connection);
  const place = hosts.url;
  const readKeys = async () => {
    const secrets = await listSecrets(ask);
    const masterKey = takeMasterKey(secrets, options.masterKey, place);
    return {
      audit: openSecret(secrets, AUDIT_KEY, [masterKey]),
      identity: openSecret(secrets, IDENTITY_KEY, [masterKey]),
    };
  };
  const never = new AbortController().signal;
  return {
    connection,
    ask,
    place,
    readKeys,
    verifyAudit: async () => verifyAudit(ask, await readKeys(), never),
    countRows: () => countRows(ask),
    readHead: () => readHead(ask),
    // Rolls back what was not committed.
    close: () => connection.close(),
  };
}

/** Limits that a database may set for long transactions. Not every release knows all of them. */
const BE_PATIENT = `SELECT set_config(name, '0', true) FROM pg_settings WHERE name IN
  ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

export async function bePatient(ask: Ask): Promise<void> {
  await ask(BE_PATIENT);
}
