import { createPrivateKey, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { MAX_REMEMBERED_ANSWERS } from '../../core/lending/repeat-answer.ts';
import { Fault } from '../../core/nouns/fault.ts';
import type { StoreNotice } from '../../core/nouns/store-notice.ts';
import { findNextKey, settleNextKey } from '../../secrets/key-rotation.ts';
import { loadMasterKey, type MasterKeySource } from '../../secrets/master-key.ts';
import { fingerprint, type MasterKey, SealError, seal, unseal } from '../../secrets/seal.ts';
import { type Clock, systemClock } from '../clock.ts';
import { type AuditKeys, EMPTY_HEAD, headDigest, SYSTEM_CHAIN } from '../engine/audit/audit-chain.ts';
import {
  AUDIT_KEY,
  chooseMasterKey,
  findSealingFingerprint,
  IDENTITY_KEY,
  makeKey,
  type SealedSecrets,
} from '../engine/sealed-secrets.ts';
import type { Store } from '../store.ts';
import { TurnSignal } from '../turn-signal.ts';
import { EventSignal, type EventSignalOptions } from './fleet/event-signal.ts';
import { LeaderElection } from './fleet/leader-election.ts';
import { setIgnoresCase } from './move/respell-users.ts';
import { PostgresStore } from './postgres-store.ts';
import { PostgresReader } from './read/reader.ts';
import type { Connection } from './wire/connection.ts';
import { toFault } from './wire/database-error.ts';
import { parseDatabaseUrls } from './wire/database-url.ts';
import { Hosts } from './wire/hosts.ts';
import { migrate } from './wire/migrate.ts';
import { Pool, type PoolOptions } from './wire/pool.ts';
import { listSecrets } from './wire/sealed-secrets.ts';
import { chainsMac } from './write/audit-ledger.ts';
import { readIndex } from './write/license-index.ts';
import { beginLimited, rollBack } from './write/transaction.ts';
import { PostgresWriter } from './write/writer.ts';

export interface DatabaseOptions {
  readonly url: string;
  readonly masterKey: MasterKeySource;
  readonly maxConnections: number;
  /** Whether statements are prepared once and used again. Some poolers do not support it. */
  readonly prepareStatements: boolean;
  /** Of Berth, shown in the list of servers. */
  readonly version: string;
  readonly onNotice: (notice: StoreNotice) => void;
  /** The log may have new events, from any server; called at most ten times a second. */
  readonly onNews: () => void;
  /** `false` for a command that opens the data while its server is stopped: it never leads. */
  readonly isServing: boolean;
  /** Whether users that differ only in case are one; if left out, it stays as it is. */
  readonly ignoresCase?: boolean | undefined;
  /** Most answers to remember for repeated requests. */
  readonly maxRememberedAnswers?: number;
  /** Replaces the database's clock in tests. */
  readonly clock?: Clock;
  /** Longer ones, for tests on a machine that is busy with other things. */
  readonly timeouts?: Partial<Timeouts>;
  /** Opens connections, in tests. */
  readonly open?: PoolOptions['open'];
}

/** How long a server waits for its database before it tells clients that it is down. */
export interface Timeouts {
  /** For a new connection. */
  readonly connectMs: number;
  /** For a connection while all are in use. */
  readonly acquireMs: number;
  /** For finding out whether a commit was made when the connection broke. */
  readonly askMs: number;
}

const TIMEOUTS: Timeouts = { connectMs: 5000, acquireMs: 5000, askMs: 10_000 };

/** How long a connection may be silent while answers are due. Longer than any statement may take. */
const ANSWER_TIMEOUT_MS = 20_000;
/** The same for queries, and for the one that takes minutes. */
const READ_TIMEOUT_MS = 40_000;
const PATIENCE_MS = 15 * 60_000;

/** Opens the store in a database that other servers may use too. */
export async function openDatabase(options: DatabaseOptions): Promise<Store> {
  const targets = readTargets(options.url);
  const hosts = new Hosts(targets, options.open);
  const opening = openingOptions(options, targets, hosts);
  const pools = openPools(options, opening);
  try {
    return await openStore(options, pools, opening, hosts);
  } catch (error) {
    await Promise.all(Object.values(pools).map((pool) => pool.close()));
    throw error instanceof SealError ? error : toFault(error);
  }
}

interface Pools {
  readonly writing: Pool;
  readonly reading: Pool;
  /** For verifying the whole log, which takes minutes. */
  readonly patient: Pool;
}

/** Queries have connections of their own, so that no list keeps a command waiting. */
function openPools({ maxConnections, timeouts }: DatabaseOptions, opening: Opening): Pools {
  const acquireTimeoutMs = timeouts?.acquireMs ?? TIMEOUTS.acquireMs;
  const open = (max: number, answerTimeoutMs: number) =>
    new Pool({ ...opening, max, answerTimeoutMs, acquireTimeoutMs });
  const reading = Math.max(1, Math.floor(maxConnections / 4));
  // One is for verifying the log, and one for notifications.
  const writing = Math.max(1, maxConnections - reading - 2);
  return {
    writing: open(writing, ANSWER_TIMEOUT_MS),
    reading: open(reading, READ_TIMEOUT_MS),
    patient: open(1, PATIENCE_MS),
  };
}

type Opening = Omit<PoolOptions, 'max' | 'acquireTimeoutMs'>;

function openingOptions(
  { prepareStatements, timeouts }: DatabaseOptions,
  targets: Targets,
  hosts: Hosts,
): Opening {
  return {
    open: (options) => hosts.open(options),
    target: targets[0],
    prepareStatements,
    connectTimeoutMs: timeouts?.connectMs ?? TIMEOUTS.connectMs,
    answerTimeoutMs: ANSWER_TIMEOUT_MS,
  };
}

type Targets = ReturnType<typeof parseDatabaseUrls>;

export function readTargets(url: string): Targets {
  try {
    return parseDatabaseUrls(url);
  } catch (error) {
    throw new Fault('store_unavailable', (error as Error).message);
  }
}

async function openStore(
  options: DatabaseOptions,
  pools: Pools,
  opening: Opening,
  hosts: Hosts,
): Promise<Store> {
  const { writing: pool, reading, patient } = pools;
  // Another server may be migrating, which can take long.
  await patient.use((connection) => migrate(connection));
  const { ignoresCase } = options;
  if (ignoresCase !== undefined) {
    const wall = options.clock?.readWall() ?? null;
    await patient.use((connection) => setIgnoresCase(connection, ignoresCase, wall));
  }
  const opened = await pool.use((connection) => openKeys(connection, options.masterKey, hosts.url));
  const { onNotice, onNews, isServing, version, clock } = options;
  const serverId = randomBytes(8).toString('hex');
  const turns = new TurnSignal();
  const openListener: EventSignalOptions['open'] = (onNotification) =>
    hosts.open({ ...opening, onNotification });
  const signal = isServing
    ? new EventSignal({ open: openListener, onNews, onTurns: (keys) => turns.tell(keys), serverId })
    : null;
  const { readMonotonicMs } = clock ?? systemClock;
  const readWall = clock === undefined ? null : () => clock.readWall();
  const writer = new PostgresWriter({
    pool,
    ...opened,
    index: await pool.use((connection) => readIndex(connection)),
    serverId,
    readWall,
    readMonotonicMs,
    onNotice,
    onEvents: () => signal?.notify(),
    onTurns(told) {
      turns.tell(told);
      signal?.tellTurns(told);
    },
    askTimeoutMs: options.timeouts?.askMs ?? TIMEOUTS.askMs,
  });
  hosts.onMoved = () => void writer.noteMove(hosts.host);
  hosts.onSecond = (other) => onNotice({ kind: 'two_primaries', inUse: hosts.host, other });
  const election = new LeaderElection({
    pool,
    writer,
    serverId,
    hostname: hostname(),
    version,
    isServing,
    readWall,
    readMonotonicMs,
    maxRememberedAnswers: options.maxRememberedAnswers ?? MAX_REMEMBERED_ANSWERS,
  });
  const reader = new PostgresReader({ pool: reading, patientPool: patient, describeHost: () => hosts.host });
  const store = new PostgresStore({
    pools: { writing: pool, reading, verifying: patient },
    writer,
    reader,
    election,
    signal,
    turns,
    onNotice,
    lookAround: () => hosts.lookAround(opening),
  });
  try {
    await store.keepClock();
    return store;
  } catch (error) {
    // The caller has nothing to close.
    await signal?.close();
    throw error;
  }
}

interface OpenedKeys {
  readonly masterKey: MasterKey;
  readonly keys: AuditKeys;
}

/** The keys of the store. The first server makes them; the lock on the server's row makes others wait. */
async function openKeys(connection: Connection, source: MasterKeySource, where: string): Promise<OpenedKeys> {
  await beginLimited(connection);
  try {
    await connection.query('SELECT id FROM server WHERE id = 1 FOR UPDATE');
    const secrets = await listSecrets((text) => connection.query(text));
    const masterKey = takeMasterKey(secrets, source, where);
    const audit = await takeKey(connection, secrets, masterKey, AUDIT_KEY);
    const der = Buffer.from(await takeKey(connection, secrets, masterKey, IDENTITY_KEY));
    if (!secrets.has(AUDIT_KEY)) await anchorUnused(connection, audit);
    await connection.query('COMMIT');
    return {
      masterKey,
      keys: { audit, identity: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) },
    };
  } catch (error) {
    await rollBack(connection);
    throw error;
  }
}

const SAME_KEY =
  'All servers on one database need the same master key: take it from another one (berth key export, berth ' +
  'key import), or set BERTH_MASTER_KEY.';

/** A new key is made only for a database in which nothing is sealed yet. */
export function takeMasterKey(secrets: SealedSecrets, source: MasterKeySource, where: string): MasterKey {
  const sealedBy = findSealingFingerprint(secrets);
  const nextKey = source.value === null ? findNextKey(source.file) : null;
  if (sealedBy !== null && source.value === null && !existsSync(source.file)) {
    throw new SealError(
      `The database at ${where} is sealed with the master key ${sealedBy}, and this server has none. ` +
        SAME_KEY,
    );
  }
  const key = loadMasterKey({ ...source, mayCreate: sealedBy === null });
  const chosen = chooseMasterKey(secrets, nextKey === null ? [key] : [key, nextKey]);
  if (sealedBy !== null && fingerprint(chosen) !== sealedBy) {
    throw new SealError(
      `The database at ${where} is sealed with the master key ${sealedBy}, and this server has ` +
        `${fingerprint(chosen)}. ${SAME_KEY}`,
    );
  }
  if (source.value === null && sealedBy !== null) settleNextKey(source.file, sealedBy);
  return chosen;
}

async function takeKey(
  connection: Connection,
  secrets: SealedSecrets,
  masterKey: MasterKey,
  name: typeof AUDIT_KEY | typeof IDENTITY_KEY,
): Promise<Uint8Array> {
  const sealed = secrets.get(name);
  if (sealed !== undefined) return unseal(masterKey, name, sealed);
  const key = makeKey(name);
  await connection.query('INSERT INTO sealed_secret (name, sealed) VALUES ($1, $2)', [
    name,
    seal(masterKey, name, key),
  ]);
  return key;
}

/**
 * Anchors the log of a new database. One that was used and has lost its audit key gets a new key but no
 * anchor: nothing can vouch for what it holds.
 */
async function anchorUnused(connection: Connection, audit: Uint8Array): Promise<void> {
  await connection.query(
    `UPDATE server SET audit_chains = $1, audit_anchor = $2 WHERE id = 1 AND audit_n = 0 AND alive_at IS NULL
     AND NOT EXISTS (SELECT 1 FROM license) AND NOT EXISTS (SELECT 1 FROM audit_link)`,
    [chainsMac(audit, []), headDigest(audit, SYSTEM_CHAIN, EMPTY_HEAD)],
  );
}
