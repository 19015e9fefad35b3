import type { AuditPosition } from '../../../core/nouns/audit-position.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { NoticeKey } from '../../../core/system/notice.ts';
import { type MasterKey, SealError, unsealWithAny } from '../../../secrets/seal.ts';
import { cursorFromRow, rulesFromRow, type StoreRow, storeFromRow } from '../../engine/rows.ts';
import type { SealedSecrets } from '../../engine/sealed-secrets.ts';
import type { RowOf } from '../../engine/tables.ts';
import type { RulesRecord, StoreDescription } from '../../query.ts';
import type { Ask } from '../wire/ask.ts';

type ServerRow = RowOf<'server'>;

export async function isSetUp(ask: Ask): Promise<boolean> {
  const [row] = await ask<Pick<ServerRow, 'set_up_at'>>('SELECT set_up_at FROM server');
  return row !== undefined && row.set_up_at !== null;
}

export async function findWebhookCursor(ask: Ask): Promise<AuditPosition | null> {
  const [row] = await ask<ServerRow>('SELECT webhook_seq, webhook_index FROM server');
  return cursorFromRow(row);
}

export async function findNotice(ask: Ask, { kind, subject }: NoticeKey): Promise<number | null> {
  const text = 'SELECT * FROM notice WHERE kind = $1 AND subject = $2';
  const [row] = await ask<RowOf<'notice'>>(text, [kind, subject]);
  return row?.value ?? null;
}

export async function findRules(ask: Ask): Promise<RulesRecord> {
  const [row] = await ask<ServerRow>('SELECT rules, rules_at FROM server');
  return { rules: rulesFromRow(row), changedAt: row?.rules_at ?? null };
}

/** All as of one moment. */
export async function listSecrets(ask: Ask): Promise<SealedSecrets> {
  const rows = await ask<RowOf<'sealed_secret'>>('SELECT name, sealed FROM sealed_secret');
  return new Map(rows.map(({ name, sealed }) => [name, sealed]));
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

type DescribedRow = StoreRow & { readonly schema_version: number; readonly engine_version: string };

const DESCRIBE = `SELECT identity, hardware_id,
    (SELECT count(*) FROM license WHERE removed_at IS NULL) AS licenses,
    (SELECT count(*) FROM registration JOIN license ON id = license_id
     WHERE ends_at > $1 AND removed_at IS NULL) AS registrations,
    (SELECT count(*) FROM account WHERE one_time = 1) AS one_time,
    (SELECT max(version) FROM berth_schema) AS schema_version,
    split_part(current_setting('server_version'), ' ', 1) AS engine_version
  FROM server`;

export async function describeStore(ask: Ask, now: Instant): Promise<StoreDescription> {
  const [row] = (await ask<DescribedRow>(DESCRIBE, [now])) as readonly [DescribedRow];
  return {
    kind: 'postgres',
    engine: `PostgreSQL ${row.engine_version}`,
    schemaVersion: row.schema_version,
    ...storeFromRow(row),
  };
}
