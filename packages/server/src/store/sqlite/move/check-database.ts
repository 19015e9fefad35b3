import type { DatabaseSync } from 'node:sqlite';
import type { MasterKey } from '../../../secrets/seal.ts';
import { findSealingFingerprint } from '../../engine/sealed-secrets.ts';
import { type Count, countOf } from '../../engine/sql.ts';
import { type RowOf, TABLE_NAMES, tableOf } from '../../engine/tables.ts';
import type { AuditVerdict } from '../../query.ts';
import { verifySnapshot } from '../read/verify-audit.ts';
import { findRow, readPragma } from '../wire/read-rows.ts';
import { listSecrets, loadAuditKey, loadIdentityKey } from '../wire/sealed-secrets.ts';

interface DatabaseFacts {
  readonly identity: string;
  readonly schemaVersion: number;
  /** The fingerprint of the master key that opens its secrets. */
  readonly sealedBy: string;
}

export function describeDatabase(db: DatabaseSync): DatabaseFacts {
  const server = findRow<Pick<RowOf<'server'>, 'identity'>>(db, 'SELECT identity FROM server');
  return {
    identity: server?.identity ?? '',
    schemaVersion: readPragma(db, 'user_version') as number,
    sealedBy: findSealingFingerprint(listSecrets(db)) ?? '',
  };
}

export interface DatabaseCheck {
  readonly audit: AuditVerdict;
  /** What does not hold and must; in sentences. */
  readonly problems: readonly string[];
}

/** Whether SQLite, the audit log and the numbers in a database agree with themselves. */
export function checkDatabase(db: DatabaseSync, masterKey: MasterKey): DatabaseCheck {
  const integrity = readPragma(db, 'integrity_check');
  const keys = { audit: loadAuditKey(db, masterKey), identity: loadIdentityKey(db, masterKey) };
  const audit = verifySnapshot(db, keys);
  const broken = audit.problems.slice(0, 1).map(({ problem }) => `The audit log is broken: ${problem}`);
  const problems = [
    ...(integrity === 'ok' ? [] : [`The database is damaged: ${integrity}.`]),
    ...broken,
    ...INVARIANTS.filter(({ sql }) => countOf(findRow<Count>(db, sql)) > 0).map(({ problem }) => problem),
  ];
  return { audit, problems };
}

const WITH_LICENSE = TABLE_NAMES.filter((name) => 'license_id' in tableOf(name).columns);

/** Each counts the rows that break it. */
const INVARIANTS = [
  { sql: 'SELECT abs(count(*) - 1) AS count FROM server', problem: 'It has no server, or more than one.' },
  {
    sql: `SELECT count(*) AS count FROM license WHERE in_use <>
      (SELECT count(*) FROM registration WHERE license_id = license.id)`,
    problem: 'A license has another number of slots in use than there are holders.',
  },
  {
    sql: `SELECT count(*) AS count FROM meter WHERE feature <> '' AND in_use <> (SELECT count(*)
      FROM feature_slot WHERE license_id = meter.license_id AND feature = meter.feature)`,
    problem: 'A feature has another number of slots in use than there are holders.',
  },
  {
    sql: `SELECT count(*) AS count FROM feature_slot WHERE NOT EXISTS (SELECT 1 FROM registration
      WHERE license_id = feature_slot.license_id AND user = feature_slot.user)`,
    problem: 'Somebody holds a feature without a slot of its license.',
  },
  {
    sql: 'SELECT count(*) AS count FROM registration WHERE due_at > ends_at',
    problem: 'A slot would be looked at only after its end.',
  },
  {
    sql: 'SELECT count(*) AS count FROM consumption_total WHERE total < 0',
    problem: 'A total of consumption is negative.',
  },
  ...WITH_LICENSE.map((table) => ({
    sql: `SELECT count(*) AS count FROM ${table} WHERE license_id NOT IN (SELECT id FROM license)`,
    problem: `The table ${table} has rows of a license that does not exist.`,
  })),
];
