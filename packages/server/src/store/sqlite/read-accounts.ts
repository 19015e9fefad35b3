import type { DatabaseSync } from 'node:sqlite';
import type { Instant } from '../../core/instant.ts';
import { SELECT_TOKEN } from '../engine/common-sql.ts';
import { accountFromRow, tokenFromRow } from '../engine/rows.ts';
import type { AccountRecord, TokenRecord } from '../query.ts';

export function findAccount(db: DatabaseSync, name: string): AccountRecord | null {
  const row = db.prepare('SELECT * FROM account WHERE name = ?').get(name);
  return row === undefined ? null : accountFromRow(row);
}

export function listAccounts(db: DatabaseSync): readonly AccountRecord[] {
  return db.prepare('SELECT * FROM account ORDER BY name').all().map(accountFromRow);
}

export function findToken(db: DatabaseSync, tokenHash: string, now: Instant): TokenRecord | null {
  const row = db.prepare(`${SELECT_TOKEN} WHERE token_hash = ?`).get(tokenHash);
  return row === undefined ? null : { token: tokenFromRow(row), now };
}

/** Those with a name first, since others come and go; then the newest. */
export function listTokens(db: DatabaseSync, limit: number, now: Instant): readonly TokenRecord[] {
  const rows = db
    .prepare(`${SELECT_TOKEN} ORDER BY token.name IS NULL, issued_at DESC, id LIMIT ?`)
    .all(limit);
  return rows.map((row) => ({ token: tokenFromRow(row), now }));
}

export function isSetUp(db: DatabaseSync): boolean {
  return db.prepare('SELECT set_up_at FROM server').get()?.set_up_at != null;
}
