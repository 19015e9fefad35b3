import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { FileVerdict } from '../../../core/doctor/judge-links.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import type { PreparedQuery } from '../../engine/prepared-query.ts';
import { isShared, planQuery, queryStore } from '../../engine/queries.ts';
import { withListedIdentity } from '../../engine/rows.ts';
import { sqlFor } from '../../engine/sql.ts';
import type { RowOf } from '../../engine/tables.ts';
import type { Answer, Answers, Query, StoreDescription } from '../../query.ts';
import { explainCorruption } from '../wire/damage.ts';
import { openForReading } from '../wire/database.ts';
import { findChangedPages } from '../wire/page-sums.ts';
import { findRow, PreparedOnce, readPragma, sqliteVersion } from '../wire/read-rows.ts';
import { loadAuditKey, loadIdentityKey } from '../wire/sealed-secrets.ts';
import { listAudit } from './read-audit.ts';
import { RenewalOverlay } from './renewal-overlay.ts';
import { verifyAudit } from './verify-audit.ts';

export interface ReaderOptions {
  readonly file: string;
}

const OPENING: ReadonlySet<Query['kind']> = new Set([
  'verify_audit',
  'find_cloud_keys',
  'find_grant_keys',
  'list_settings',
  'find_webhook_secret',
  'list_channels',
  'find_second_factor',
  'find_identity_key',
]);

/** Returns whether a secret has to be opened for the answer. */
export function needsMasterKey({ kind }: Query): boolean {
  return OPENING.has(kind);
}

/** Answers queries over a read-only connection, so that a long one delays no command. */
export class SqliteReader {
  readonly #file: string;
  readonly #db: DatabaseSync;
  readonly #prepared: PreparedOnce;
  readonly #renewals: RenewalOverlay;
  /** See `openForReading`: a new reader may see more. */
  readonly isFrozen: boolean;

  constructor({ file }: ReaderOptions) {
    this.#file = file;
    const { db, isFrozen } = explainCorruption(file, () => openForReading(file));
    this.#db = db;
    this.isFrozen = isFrozen;
    this.#prepared = new PreparedOnce(this.#db);
    this.#renewals = explainCorruption(file, () => new RenewalOverlay(this.#db));
  }

  /** `masterKeys`: all that may seal the secrets at this moment. */
  answer<Q extends Query>(query: Q, now: Instant, masterKeys: readonly MasterKey[]): Answer<Q> {
    return explainCorruption(this.#file, () => this.#answerAny(query, now, masterKeys)) as Answer<Q>;
  }

  close(): void {
    this.#db.close();
  }

  #checkFile(maxBytes: number): FileVerdict {
    if (statSync(this.#file).size > maxBytes) return { damage: null, changed: null, isRead: false };
    const found = String(readPragma(this.#db, 'integrity_check(1)'));
    const changed = findChangedPages(this.#file);
    return { damage: found === 'ok' ? null : found, changed, isRead: true };
  }

  #answerAny(query: Query, now: Instant, masterKeys: readonly MasterKey[]): Answers[Query['kind']] {
    if (query.kind === 'list_registrations') {
      const server = findRow<RowOf<'server'>>(this.#db, 'SELECT ignores_case FROM server');
      return this.#query(planQuery(withListedIdentity(query, server), now, masterKeys));
    }
    if (isShared(query)) return this.#query(planQuery(query, now, masterKeys));
    switch (query.kind) {
      case 'verify_audit':
        return verifyAudit(this.#db, {
          audit: loadAuditKey(this.#db, ...masterKeys),
          identity: loadIdentityKey(this.#db, ...masterKeys),
        });
      case 'list_audit':
        return listAudit(this.#prepared, query);
      case 'find_identity_key':
        return loadIdentityKey(this.#db, ...masterKeys);
      case 'describe_engine':
        return {
          settings: { journal_mode: String(readPragma(this.#db, 'journal_mode')) },
          port: null,
          servers: [],
        };
      case 'describe_store':
        return this.#describe(now);
      case 'check_file':
        return this.#checkFile(query.maxBytes);
    }
  }

  #query<A>(asked: PreparedQuery<A>): A {
    const isAboutSlots = asked.statements.some(({ sql }) => /\bregistration\b/.test(sqlFor('sqlite', sql)));
    const answer = () => this.#prepared.answer(asked);
    return isAboutSlots ? this.#renewals.during(answer) : answer();
  }

  #describe(now: Instant): StoreDescription {
    return {
      kind: 'sqlite',
      engine: `SQLite ${sqliteVersion(this.#db)}`,
      host: null,
      schemaVersion: readPragma(this.#db, 'user_version') as number,
      ...this.#query(queryStore(now)),
    };
  }
}
