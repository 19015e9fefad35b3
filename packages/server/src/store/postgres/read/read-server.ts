import type { AuditPosition } from '../../../core/nouns/audit-position.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { NoticeKey } from '../../../core/nouns/notice-key.ts';
import { type MasterKey, SealError, unsealWithAny } from '../../../secrets/seal.ts';
import { cursorFromRow, instantOrNull, rulesFromRow } from '../../engine/rows.ts';
import type { SealedSecrets } from '../../engine/sealed-secrets.ts';
import type { RulesRecord, StoreDescription } from '../../query.ts';
import type { Ask } from '../wire/ask.ts';

export async function isSetUp(ask: Ask): Promise<boolean> {
  const [row] = await ask('SELECT set_up_at FROM server');
  return row?.set_up_at != null;
}

export async function findWebhookCursor(ask: Ask): Promise<AuditPosition | null> {
  const [row] = await ask('SELECT webhook_seq, webhook_index FROM server');
  return cursorFromRow(row);
}

export async function findNotice(ask: Ask, { kind, subject }: NoticeKey): Promise<number | null> {
  const [row] = await ask('SELECT value FROM notice WHERE kind = $1 AND subject = $2', [kind, subject]);
  return (row?.value as number | undefined) ?? null;
}

export async function findRules(ask: Ask): Promise<RulesRecord> {
  const [row] = await ask('SELECT rules, rules_at FROM server');
  return { rules: rulesFromRow(row), changedAt: instantOrNull(row?.rules_at) };
}

/** All as of one moment. */
export async function listSecrets(ask: Ask): Promise<SealedSecrets> {
  const rows = await ask('SELECT name, sealed FROM sealed_secret');
  return new Map(rows.map((row) => [row.name as string, row.sealed as Uint8Array]));
}

/** One of the keys that the store has made for itself when it was first opened. */
export function openSecret(
  secrets: SealedSecrets,
  name: string,
  masterKeys: readonly MasterKey[],
): Uint8Array {
  const sealed = secrets.get(name);
  if (sealed === undefined) {
    throw new SealError(`The database holds no secret "${name}". Start a server on it, which makes one.`);
  }
  return unsealWithAny(masterKeys, name, sealed);
}

const DESCRIBE = `SELECT identity, hardware_id,
    (SELECT count(*) FROM license WHERE removed_at IS NULL) AS licenses,
    (SELECT count(*) FROM registration JOIN license ON id = license_id
     WHERE ends_at > $1 AND removed_at IS NULL) AS registrations,
    (SELECT count(*) FROM account WHERE one_time = 1) AS one_time,
    (SELECT max(version) FROM berth_schema) AS schema_version,
    split_part(current_setting('server_version'), ' ', 1) AS engine_version
  FROM server`;

export async function describeStore(ask: Ask, now: Instant): Promise<StoreDescription> {
  const [row] = await ask(DESCRIBE, [now]);
  return {
    kind: 'postgres',
    engine: `PostgreSQL ${row?.engine_version}`,
    schemaVersion: row?.schema_version as number,
    identity: row?.identity as string,
    hardwareId: row?.hardware_id as string | null,
    licenses: row?.licenses as number,
    registrations: row?.registrations as number,
    isOneTimePasswordInUse: row?.one_time !== 0,
  };
}
