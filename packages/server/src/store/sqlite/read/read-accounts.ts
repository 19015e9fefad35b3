import type { DatabaseSync } from 'node:sqlite';
import type { Instant } from '../../../core/nouns/instant.ts';
import { ENDING_ORDER, SELECT_TOKEN, TOKEN_ORDER } from '../../engine/common-sql.ts';
import { accountFromRow, tokenFromRow } from '../../engine/rows.ts';
import type { AccountRecord, ListTokens, TokenRecord } from '../../query.ts';

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

export function listTokens(
  db: DatabaseSync,
  { limit, endingWithinMs }: ListTokens,
  now: Instant,
): readonly TokenRecord[] {
  const rows =
    endingWithinMs === undefined
      ? db.prepare(`${SELECT_TOKEN} ${TOKEN_ORDER} LIMIT ?`).all(limit)
      : db
          .prepare(`${SELECT_TOKEN} WHERE expires_at > ? AND expires_at <= ? ${ENDING_ORDER} LIMIT ?`)
          .all(now, now + endingWithinMs, limit);
  return rows.map((row) => ({ token: tokenFromRow(row), now }));
}

export function isSetUp(db: DatabaseSync): boolean {
  return db.prepare('SELECT set_up_at FROM server').get()?.set_up_at != null;
}
