import { Fault } from '../../../core/nouns/fault.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import { isShared, planQuery } from '../../engine/queries.ts';
import { withListedIdentity } from '../../engine/rows.ts';
import { AUDIT_KEY, IDENTITY_KEY } from '../../engine/sealed-secrets.ts';
import { SharedRun } from '../../engine/shared-run.ts';
import type { RowOf } from '../../engine/tables.ts';
import type { Answer, Answers, AuditVerdict, ListRegistrations, Query } from '../../query.ts';
import { type Ask, answerQuery, askOver, readSnapshot } from '../wire/ask.ts';
import type { Connection } from '../wire/connection.ts';
import { isRetryable, toFault } from '../wire/database-error.ts';
import type { Pool } from '../wire/pool.ts';
import { listSecrets, openSecret } from '../wire/sealed-secrets.ts';
import { numberLinks } from '../write/number-links.ts';
import { listAudit } from './read-audit.ts';
import { describeEngine, describeStore } from './read-server.ts';
import { verifyAudit } from './verify-audit.ts';

interface PostgresReaderOptions {
  readonly pool: Pick<Pool, 'use'>;
  /** For what takes minutes: a silent connection is not a lost one there. */
  readonly patientPool: Pick<Pool, 'use'>;
  /** Names the host in use. */
  readonly describeHost: () => string;
}

/** Most time for one statement of an answer. A list of everything takes a second. */
const STATEMENT_TIMEOUT_MS = 30_000;

/** A verification counts the rows of the whole log. */
const VERIFY_TIMEOUT_MS = 600_000;

/** After a newer server has changed the tables, each connection may fail once before it is replaced. */
const MAX_ATTEMPTS = 30;

/** Queries that depend on the numbers of the links. */
const NUMBERED: readonly Query['kind'][] = ['list_audit', 'search_audit', 'describe_audit', 'list_links'];

/** Queries that take one lookup. */
const QUICK: readonly Query['kind'][] = [
  'find_account',
  'find_token',
  'is_set_up',
  'find_cursor',
  'find_follower',
  'find_notice',
  'find_rules',
  'list_settings',
  'find_identity_key',
  'describe_seal',
  'find_cloud_keys',
  'find_webhook_secret',
  'list_channels',
  'find_second_factor',
  'find_grant_keys',
];

/** Answers each query over a connection of its own. It writes nothing but the numbers of links. */
export class PostgresReader {
  readonly #pool: Pick<Pool, 'use'>;
  readonly #patientPool: Pick<Pool, 'use'>;
  readonly #describeHost: () => string;
  readonly #closing = new AbortController();
  readonly #verification = new SharedRun((signal) => this.#verify(signal));
  #masterKeys: readonly MasterKey[] = [];

  constructor({ pool, patientPool, describeHost }: PostgresReaderOptions) {
    this.#pool = pool;
    this.#patientPool = patientPool;
    this.#describeHost = describeHost;
  }

  /** `masterKeys`: all that may seal the secrets at this moment. */
  async answer<Q extends Query>(
    query: Q,
    now: Instant,
    masterKeys: readonly MasterKey[],
    signal?: AbortSignal,
  ): Promise<Answer<Q>> {
    return (await this.#answerAny(query, now, masterKeys, signal)) as Answer<Q>;
  }

  /** Cancels a verification, which may take minutes and writes nothing. */
  async close(): Promise<void> {
    this.#closing.abort(new Fault('store_unavailable', 'The server is stopping.'));
    await this.#verification.settle();
  }

  #answerAny(
    query: Query,
    now: Instant,
    masterKeys: readonly MasterKey[],
    asker: AbortSignal | undefined,
  ): Answering {
    this.#masterKeys = masterKeys;
    if (query.kind === 'verify_audit') return this.#verification.ask(asker);
    const read = async (ask: Ask) => {
      if (query.kind !== 'describe_store') return answerAny(ask, query, now, masterKeys);
      return { ...(await describeStore(ask, now)), host: this.#describeHost() };
    };
    return repeat(this.#pool, async (connection) => {
      if (QUICK.includes(query.kind)) return read(askOver(connection));
      if (NUMBERED.includes(query.kind)) await numberAll(connection);
      return readSnapshot(connection, STATEMENT_TIMEOUT_MS, read);
    });
  }

  #verify(deserted: AbortSignal): Promise<AuditVerdict> {
    const signal = AbortSignal.any([this.#closing.signal, deserted]);
    return repeat(this.#patientPool, (connection) =>
      readSnapshot(connection, VERIFY_TIMEOUT_MS, async (ask) => {
        signal.throwIfAborted();
        const secrets = await listSecrets(ask);
        const open = (name: string) => openSecret(secrets, name, this.#masterKeys);
        return verifyAudit(ask, { audit: open(AUDIT_KEY), identity: open(IDENTITY_KEY) }, signal);
      }),
    );
  }
}

/** What it reads is read again if that may succeed over another connection. */
async function repeat<T>(pool: Pick<Pool, 'use'>, read: (connection: Connection) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await pool.use(read);
    } catch (error) {
      const cause = error instanceof Fault ? error.cause : error;
      if (attempt === MAX_ATTEMPTS || !isRetryable(cause)) throw error;
    }
  }
}

/** Numbers all links, so that an answer includes whatever was acknowledged before. */
async function numberAll(connection: Connection): Promise<void> {
  try {
    await numberLinks(connection);
  } catch (error) {
    throw toFault(error);
  }
}

type Answering = Promise<Answers[Query['kind']]>;

async function answerAny(
  ask: Ask,
  query: Exclude<Query, { kind: 'verify_audit' | 'describe_store' }>,
  now: Instant,
  masterKeys: readonly MasterKey[],
): Answering {
  if (query.kind === 'list_registrations') {
    const [server] = await ask<RowOf<'server'>>('SELECT ignores_case FROM server WHERE id = $1', [1]);
    const asked = cutPlace(withListedIdentity(query, server));
    return answerQuery(ask, planQuery(asked, now, masterKeys));
  }
  if (isShared(query)) return answerQuery(ask, planQuery(query, now, masterKeys));
  switch (query.kind) {
    case 'list_audit':
      return listAudit(ask, query);
    case 'describe_engine':
      return describeEngine(ask, now);
    case 'check_file':
      return { damage: null, changed: null, isRead: false };
    case 'find_identity_key':
      return openSecret(await listSecrets(ask), IDENTITY_KEY, masterKeys);
  }
}

/** PostgreSQL cannot store the character zero, so the text before it is the same place in the list. */
function cutPlace(query: ListRegistrations): ListRegistrations {
  const { after } = query;
  return { ...query, after: after && { ...after, user: after.user.split('\0')[0] ?? '' } };
}
