import type { DatabaseSync } from 'node:sqlite';
import type { Instant } from '../../../core/nouns/instant.ts';
import { accountFromRow, type TokenRow, tokenFromRow } from '../../engine/rows.ts';
import { ENDING_ORDER, SELECT_TOKEN, TOKEN_ORDER } from '../../engine/statements.ts';
import type { RowOf } from '../../engine/tables.ts';
import type { AccountRecord, ListTokens, TokenRecord } from '../../query.ts';
import { findRow, listRows } from '../wire/ask.ts';

export function findAccount(db: DatabaseSync, name: string): AccountRecord | null {
  const row = findRow<RowOf<'account'>>(db, 'SELECT * FROM account WHERE name = :name', { name });
  return row === undefined ? null : accountFromRow(row);
}

export function listAccounts(db: DatabaseSync): readonly AccountRecord[] {
  return listRows<RowOf<'account'>>(db, 'SELECT * FROM account ORDER BY name').map(accountFromRow);
}

export function findToken(db: DatabaseSync, tokenHash: string, now: Instant): TokenRecord | null {
  const row = findRow<TokenRow>(db, `${SELECT_TOKEN} WHERE token_hash = :tokenHash`, { tokenHash });
  return row === undefined ? null : { token: tokenFromRow(row), now };
}

export function listTokens(
  db: DatabaseSync,
  { limit, endingWithinMs }: ListTokens,
  now: Instant,
): readonly TokenRecord[] {
  const rows =
    endingWithinMs === undefined
      ? listRows<TokenRow>(db, `${SELECT_TOKEN} ${TOKEN_ORDER} LIMIT :limit`, { limit })
      : listRows<TokenRow>(
          db,
          `${SELECT_TOKEN} WHERE expires_at > :now AND expires_at <= :until ${ENDING_ORDER} LIMIT :limit`,
          { now, until: now + endingWithinMs, limit },
        );
  return rows.map((row) => ({ token: tokenFromRow(row), now }));
}

export function isSetUp(db: DatabaseSync): boolean {
  const server = findRow<Pick<RowOf<'server'>, 'set_up_at'>>(db, 'SELECT set_up_at FROM server');
  return server != null && server.set_up_at !== null;
}
