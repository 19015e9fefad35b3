import { Fault } from '../../../core/nouns/fault.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import {
  AUDIT_KEY,
  findSealingFingerprint,
  IDENTITY_KEY,
  openCloudKeys,
} from '../../engine/sealed-secrets.ts';
import { SharedRun } from '../../engine/shared-run.ts';
import type { Answer, Answers, AuditVerdict, Query } from '../../query.ts';
import { type Ask, askAsOfOneMoment, askOver } from '../wire/ask.ts';
import type { Connection } from '../wire/connection.ts';
import { toFault } from '../wire/database-error.ts';
import type { Pool } from '../wire/pool.ts';
import { numberLinks } from '../write/number-links.ts';
import { findAccount, findToken, listAccounts, listTokens } from './read-accounts.ts';
import { describeAudit, listAudit, listLinks, listSegments } from './read-audit.ts';
import { listBacklog, listUsage } from './read-consumption.ts';
import { listLicenses, listRegistrations, listUntidy } from './read-licenses.ts';
import {
  describeStore,
  findNotice,
  findRules,
  findWebhookCursor,
  isSetUp,
  listSecrets,
  openSecret,
} from './read-server.ts';
import { verifyAudit } from './verify-audit.ts';

export interface PostgresReaderOptions {
  readonly pool: Pick<Pool, 'use'>;
  /** For what takes minutes: silence means nothing there. */
  readonly patientPool: Pick<Pool, 'use'>;
}

/** What one statement of an answer may take. A list of everything takes a second. */
const STATEMENT_TIMEOUT_MS = 30_000;

/** A verification counts the rows of the whole log. */
const VERIFY_TIMEOUT_MS = 600_000;

/** The questions about the log whose answers go by the numbers of the links. */
const NUMBERED: readonly Query['kind'][] = ['list_audit', 'describe_audit', 'list_links'];

/** What one statement answers that finds at once what it looks for. */
const QUICK = [
  'find_account',
  'find_token',
  'is_set_up',
  'find_webhook_cursor',
  'find_notice',
  'find_rules',
  'find_identity_key',
  'describe_seal',
  'find_cloud_keys',
] as const;

type QuickQuery = Extract<Query, { kind: (typeof QUICK)[number] }>;
type SlowQuery = Exclude<Query, QuickQuery | { kind: 'verify_audit' }>;

/** Answers questions, each over a connection of its own, and never writes anything but numbers of links. */
export class PostgresReader {
  readonly #pool: Pick<Pool, 'use'>;
  readonly #patientPool: Pick<Pool, 'use'>;
  readonly #closing = new AbortController();
  readonly #verification = new SharedRun((signal) => this.#verify(signal));
  #masterKeys: readonly MasterKey[] = [];

  constructor({ pool, patientPool }: PostgresReaderOptions) {
    this.#pool = pool;
    this.#patientPool = patientPool;
  }

  /** `masterKeys`: all that the secrets may be sealed with at this moment. */
  async answer<Q extends Query>(
    query: Q,
    now: Instant,
    masterKeys: readonly MasterKey[],
    signal?: AbortSignal,
  ): Promise<Answer<Q>> {
    return (await this.#answerAny(query, now, masterKeys, signal)) as Answer<Q>;
  }

  /** A verification may take minutes, and writes nothing: it is broken off. */
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
    const read = (ask: Ask) => answerAny(ask, query, now, masterKeys);
    return this.#pool.use(async (connection) => {
      if (isQuick(query)) return read(askOver(connection));
      if (NUMBERED.includes(query.kind)) await numberAll(connection);
      return askAsOfOneMoment(connection, STATEMENT_TIMEOUT_MS, read);
    });
  }

  #verify(deserted: AbortSignal): Promise<AuditVerdict> {
    const signal = AbortSignal.any([this.#closing.signal, deserted]);
    return this.#patientPool.use((connection) =>
      askAsOfOneMoment(connection, VERIFY_TIMEOUT_MS, async (ask) => {
        signal.throwIfAborted();
        const secrets = await listSecrets(ask);
        const open = (name: string) => openSecret(secrets, name, this.#masterKeys);
        return verifyAudit(ask, { audit: open(AUDIT_KEY), identity: open(IDENTITY_KEY) }, signal);
      }),
    );
  }
}

function isQuick(query: Query): query is QuickQuery {
  return (QUICK as readonly string[]).includes(query.kind);
}

/** So that an answer holds whatever was acknowledged before the question. */
async function numberAll(connection: Connection): Promise<void> {
  try {
    await numberLinks(connection);
  } catch (error) {
    throw toFault(error);
  }
}

type Answering = Promise<Answers[Query['kind']]>;

function answerAny(
  ask: Ask,
  query: QuickQuery | SlowQuery,
  now: Instant,
  keys: readonly MasterKey[],
): Answering {
  switch (query.kind) {
    case 'list_licenses':
      return listLicenses(ask, query.product, now);
    case 'list_registrations':
      return listRegistrations(ask, query, now);
    case 'list_audit':
      return listAudit(ask, query);
    case 'describe_audit':
      return describeAudit(ask);
    case 'list_links':
      return listLinks(ask, query);
    case 'list_segments':
      return listSegments(ask);
    case 'list_accounts':
      return listAccounts(ask);
    case 'list_tokens':
      return listTokens(ask, query, now);
    case 'list_untidy':
      return listUntidy(ask, now);
    case 'list_backlog':
      return listBacklog(ask);
    case 'list_usage':
      return listUsage(ask);
    case 'describe_store':
      return describeStore(ask, now);
    default:
      return answerQuick(ask, query, now, keys);
  }
}

async function answerQuick(
  ask: Ask,
  query: QuickQuery,
  now: Instant,
  masterKeys: readonly MasterKey[],
): Answering {
  switch (query.kind) {
    case 'find_account':
      return findAccount(ask, query.name);
    case 'find_token':
      return findToken(ask, query.tokenHash, now);
    case 'is_set_up':
      return isSetUp(ask);
    case 'find_webhook_cursor':
      return findWebhookCursor(ask);
    case 'find_notice':
      return findNotice(ask, query.key);
    case 'find_rules':
      return findRules(ask);
    case 'find_identity_key':
      return openSecret(await listSecrets(ask), IDENTITY_KEY, masterKeys);
    case 'describe_seal':
      return { sealedBy: findSealingFingerprint(await listSecrets(ask)) ?? '' };
    case 'find_cloud_keys':
      return openCloudKeys(await listSecrets(ask), masterKeys);
  }
}
