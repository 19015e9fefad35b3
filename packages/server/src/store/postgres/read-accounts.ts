import type { Instant } from '../../core/instant.ts';
import { SELECT_TOKEN } from '../engine/common-sql.ts';
import { accountFromRow, tokenFromRow } from '../engine/rows.ts';
import type { AccountRecord, TokenRecord } from '../query.ts';
import { type Ask, isStorable } from './ask.ts';

export async function findAccount(ask: Ask, name: string): Promise<AccountRecord | null> {
  if (!isStorable(name)) return null;
  const [row] = await ask('SELECT * FROM account WHERE name = $1', [name]);
  return row === undefined ? null : accountFromRow(row);
}

export async function listAccounts(ask: Ask): Promise<readonly AccountRecord[]> {
  return (await ask('SELECT * FROM account ORDER BY name')).map(accountFromRow);
}

export async function findToken(ask: Ask, tokenHash: string, now: Instant): Promise<TokenRecord | null> {
  if (!isStorable(tokenHash)) return null;
  const [row] = await ask(`${SELECT_TOKEN} WHERE token_hash = $1`, [tokenHash]);
  return row === undefined ? null : { token: tokenFromRow(row), now };
}

/** Those with a name first, since others come and go; then the newest. */
export async function listTokens(ask: Ask, limit: number, now: Instant): Promise<readonly TokenRecord[]> {
  const order = 'token.name IS NULL, token.issued_at DESC, token.id';
  const rows = await ask(`${SELECT_TOKEN} ORDER BY ${order} LIMIT $1`, [limit]);
  return rows.map((row) => ({ token: tokenFromRow(row), now }));
}
