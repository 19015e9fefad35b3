import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { DENIAL_WINDOW_MS, PLACE_WINDOW_MS } from '../../../core/lending/deny.ts';
import { ANSWER_LIFETIME_MS } from '../../../core/lending/repeat-answer.ts';
import type { AuditPosition } from '../../../core/nouns/audit-position.ts';
import { type Standing, WHOLE_LICENSE, windowStart } from '../../../core/nouns/consumption.ts';
import type { ConsumptionLimits } from '../../../core/nouns/feature.ts';
import { type Instant, instant } from '../../../core/nouns/instant.ts';
import { type License, type LicenseId, licenseId } from '../../../core/nouns/license.ts';
import type { NoticeKey } from '../../../core/nouns/notice-key.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import {
  backlogFromRows,
  cursorFromRow,
  instantOrNull,
  licenseFromRow,
  originKeys,
  type Row,
  registrationFromRow,
  rulesFromRow,
  usageFromRow,
  withListedIdentity,
} from '../../engine/rows.ts';
import { findSealingFingerprint, openCloudKeys } from '../../engine/sealed-secrets.ts';
import type {
  Answer,
  Answers,
  BacklogRecord,
  LicenseRecord,
  ListRegistrations,
  Query,
  RegistrationRecord,
  RulesRecord,
  StoreDescription,
  UsageRecord,
} from '../../query.ts';
import { tellDamage } from '../wire/damage.ts';
import { openReadOnly, readPragma, sqliteVersion } from '../wire/database.ts';
import { listSecrets, loadAuditKey, loadIdentityKey } from '../write/sealed-secrets.ts';
import { findAccount, findToken, isSetUp, listAccounts, listTokens } from './read-accounts.ts';
import { readAudit } from './read-audit.ts';
import { verifyAudit } from './verify-audit.ts';

export interface ReaderOptions {
  readonly file: string;
}

/** Whether a secret has to be opened for an answer. */
export function needsMasterKey({ kind }: Query): boolean {
  return kind === 'verify_audit' || kind === 'find_cloud_keys' || kind === 'find_identity_key';
}

/** Answers questions over a connection that cannot write. A long report here holds up no command. */
export class SqliteReader {
  readonly #file: string;
  readonly #db: DatabaseSync;

  constructor({ file }: ReaderOptions) {
    this.#file = file;
    this.#db = tellDamage(file, () => openReadOnly(file));
  }

  /** `masterKeys`: all that the secrets may be sealed with at this moment. */
  answer<Q extends Query>(query: Q, now: Instant, masterKeys: readonly MasterKey[]): Answer<Q> {
    return tellDamage(this.#file, () => this.#answerAny(query, now, masterKeys)) as Answer<Q>;
  }

  close(): void {
    this.#db.close();
  }

  #answerAny(query: Query, now: Instant, masterKeys: readonly MasterKey[]): Answers[Query['kind']] {
    switch (query.kind) {
      case 'list_licenses':
        return this.#listLicenses(query.product, now);
      case 'list_registrations':
        return this.#listRegistrations(query, now);
      case 'verify_audit':
        return verifyAudit(this.#db, {
          audit: loadAuditKey(this.#db, ...masterKeys),
          identity: loadIdentityKey(this.#db, ...masterKeys),
        });
      case 'list_audit':
      case 'describe_audit':
      case 'list_links':
      case 'list_segments':
        return readAudit(this.#db, query);
      case 'find_account':
        return findAccount(this.#db, query.name);
      case 'list_accounts':
        return listAccounts(this.#db);
      case 'find_token':
        return findToken(this.#db, query.tokenHash, now);
      case 'list_tokens':
        return listTokens(this.#db, query, now);
      case 'is_set_up':
        return isSetUp(this.#db);
      case 'find_webhook_cursor':
        return this.#findWebhookCursor();
      case 'find_notice':
        return this.#findNotice(query.key);
      case 'list_untidy':
        return this.#listUntidy(now);
      case 'list_backlog':
        return this.#listBacklog();
      case 'list_usage':
        return this.#listUsage();
      case 'find_identity_key':
        return loadIdentityKey(this.#db, ...masterKeys);
      case 'describe_store':
        return this.#describe(now);
      case 'describe_seal':
        return { sealedBy: findSealingFingerprint(listSecrets(this.#db)) ?? '' };
      case 'find_cloud_keys':
        return openCloudKeys(listSecrets(this.#db), masterKeys);
      case 'find_rules':
        return this.#findRules();
    }
  }

  #all(sql: string, params: Record<string, SQLInputValue> = {}): Row[] {
    return this.#db.prepare(sql).all(params);
  }

  #get(sql: string, params: Record<string, SQLInputValue> = {}): Row | undefined {
    return this.#db.prepare(sql).get(params);
  }

  #listLicenses(product: string | null, now: Instant): readonly LicenseRecord[] {
    const rows = this.#all(
      `SELECT *,
         in_use - (SELECT count(*) FROM registration WHERE license_id = id AND ends_at <= :now) AS live,
         (SELECT count(*) FROM registration WHERE license_id = id AND borrowed_until > :now) AS borrowed
       FROM license WHERE removed_at IS NULL AND (:product IS NULL OR product = :product)
       ORDER BY added_order DESC`,
      { product, now },
    );
    return rows.map((row) => {
      const license = licenseFromRow(row);
      return {
        license,
        inUse: row.live as number,
        borrowed: row.borrowed as number,
        standing: this.#readStanding(license, now),
        addedAt: instant(row.added_at as number),
        now,
      };
    });
  }

  #readStanding({ id, consumption, features }: License, now: Instant): Standing {
    return {
      total: this.#readTotal(id, WHOLE_LICENSE, consumption, now),
      features: features.map((feature) => ({
        code: feature.code,
        total: this.#readTotal(id, feature.code, feature.consumption, now),
        inUse: feature.floating === null ? 0 : this.#countFeatureSlots(id, feature.code, now),
      })),
    };
  }

  #readTotal(id: LicenseId, feature: string, { period }: ConsumptionLimits, now: Instant): number {
    const row = this.#get(
      `SELECT total FROM consumption_total
       WHERE license_id = :id AND feature = :feature AND window_start = :start`,
      { id, feature, start: windowStart(period, now) },
    );
    return (row?.total as number | undefined) ?? 0;
  }

  #countFeatureSlots(id: LicenseId, feature: string, now: Instant): number {
    const row = this.#get(
      `SELECT count(*) AS count FROM feature_slot JOIN registration USING (license_id, user)
       WHERE license_id = :id AND feature = :feature
         AND feature_slot.ends_at > :now AND registration.ends_at > :now`,
      { id, feature, now },
    );
    return row?.count as number;
  }

  #listRegistrations(asked: ListRegistrations, now: Instant): readonly RegistrationRecord[] {
    const query = withListedIdentity(asked, this.#get('SELECT ignores_case FROM server'));
    const rows = this.#all(
      `SELECT registration.*, license.product FROM registration JOIN license ON license.id = license_id
       WHERE ends_at > :now AND removed_at IS NULL
         AND (:licenseId IS NULL OR license_id = :licenseId)
         AND (:product IS NULL OR license.product = :product)
         AND (:user IS NULL OR user = :user)
         AND (:first IS NULL OR origin BETWEEN :first AND :last)
         AND (license_id, user) > (:afterLicense, :afterUser)
       ORDER BY license_id, user LIMIT :limit`,
      {
        now,
        licenseId: query.licenseId,
        product: query.product,
        user: query.user,
        ...originKeys(query.origin),
        limit: query.limit,
        afterLicense: query.after?.licenseId ?? -1,
        afterUser: query.after?.user ?? '',
      },
    );
    return rows.map((row) => ({
      licenseId: licenseId(row.license_id as number),
      product: row.product as string,
      registration: registrationFromRow(row),
      now,
    }));
  }

  #findWebhookCursor(): AuditPosition | null {
    return cursorFromRow(this.#get('SELECT webhook_seq, webhook_index FROM server'));
  }

  #findNotice({ kind, subject }: NoticeKey): number | null {
    const row = this.#get('SELECT value FROM notice WHERE kind = :kind AND subject = :subject', {
      kind,
      subject,
    });
    return (row?.value as number | undefined) ?? null;
  }

  /** Licenses on which the sweeper has something to collect. */
  #listUntidy(now: Instant): readonly LicenseId[] {
    const rows = this.#all(
      `SELECT id FROM license
       WHERE EXISTS (SELECT 1 FROM registration WHERE license_id = id AND ends_at <= :now)
          OR EXISTS (SELECT 1 FROM feature_slot WHERE license_id = id AND ends_at <= :now)
          OR EXISTS (SELECT 1 FROM denial WHERE license_id = id AND denied_at <= :windowStart)
          OR EXISTS (SELECT 1 FROM place_denial WHERE license_id = id AND repeated > 0)
          OR EXISTS (SELECT 1 FROM place_denial WHERE license_id = id AND denied_at <= :placeStart)
          OR EXISTS (SELECT 1 FROM remembered_answer WHERE answered_at <= :forgotten AND license_id = id)`,
      {
        now,
        windowStart: now - DENIAL_WINDOW_MS,
        placeStart: now - PLACE_WINDOW_MS,
        forgotten: now - ANSWER_LIFETIME_MS,
      },
    );
    return rows.map((row) => licenseId(row.id as number));
  }

  #listBacklog(): readonly BacklogRecord[] {
    const rows = this.#all(
      `SELECT license.product, license.facts ->> 'source' AS source, license.removed_at, meter.*
       FROM meter JOIN license ON license.id = meter.license_id
       WHERE removed_at IS NULL OR pending <> 0 OR EXISTS (SELECT 1 FROM report
         WHERE report.license_id = meter.license_id AND report.feature = meter.feature)
       ORDER BY license_id, feature`,
    );
    return backlogFromRows(rows, this.#all('SELECT * FROM report ORDER BY cut_at, id'));
  }

  /** Each license has a row of its own, whether or not anything was counted of it. */
  #listUsage(): readonly UsageRecord[] {
    const rows = this.#all(
      `WITH part AS (
         SELECT id AS license_id, '' AS feature FROM license
         UNION SELECT license_id, feature FROM meter)
       SELECT part.*, license.product, license.facts ->> 'key' AS license_key, removed_at,
         coalesce(pending, 0) + coalesce((SELECT sum(amount) FROM report
           WHERE report.license_id = part.license_id AND report.feature = part.feature), 0) AS consumed
       FROM part JOIN license ON license.id = part.license_id
       LEFT JOIN meter ON meter.license_id = part.license_id AND meter.feature = part.feature
       WHERE license.facts ->> 'source' IN ('offline', 'airgap') ORDER BY part.license_id, part.feature`,
    );
    return rows.map(usageFromRow);
  }

  #findRules(): RulesRecord {
    const row = this.#get('SELECT rules, rules_at FROM server');
    return { rules: rulesFromRow(row), changedAt: instantOrNull(row?.rules_at) };
  }

  #describe(now: Instant): StoreDescription {
    const row = this.#get(
      `SELECT identity, hardware_id,
         (SELECT count(*) FROM license WHERE removed_at IS NULL) AS licenses,
         (SELECT count(*) FROM registration JOIN license ON id = license_id
          WHERE ends_at > :now AND removed_at IS NULL) AS registrations,
         EXISTS (SELECT 1 FROM account WHERE one_time = 1) AS one_time
       FROM server`,
      { now },
    );
    return {
      kind: 'sqlite',
      engine: `SQLite ${sqliteVersion(this.#db)}`,
      schemaVersion: readPragma(this.#db, 'user_version') as number,
      identity: row?.identity as string,
      hardwareId: row?.hardware_id as string | null,
      licenses: row?.licenses as number,
      registrations: row?.registrations as number,
      isOneTimePasswordInUse: row?.one_time === 1,
    };
  }
}
