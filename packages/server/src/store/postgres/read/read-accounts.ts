import type { Instant } from '../../../core/nouns/instant.ts';
import { accountFromRow, type TokenRow, tokenFromRow } from '../../engine/rows.ts';
import { ENDING_ORDER, SELECT_TOKEN, TOKEN_ORDER } from '../../engine/statements.ts';
import type { RowOf } from '../../engine/tables.ts';
import type { AccountRecord, ListTokens, TokenRecord } from '../../query.ts';
import { type Ask, isStorable } from '../wire/ask.ts';

export async function findAccount(ask: Ask, name: string): Promise<AccountRecord | null> {
  if (!isStorable(name)) return null;
  const [row] = await ask<RowOf<'account'>>('SELECT * FROM account WHERE name = $1', [name]);
  return row === undefined ? null : accountFromRow(row);
}

export async function listAccounts(ask: Ask): Promise<readonly AccountRecord[]> {
  return (await ask<RowOf<'account'>>('SELECT * FROM account ORDER BY name')).map(accountFromRow);
}

export async function findToken(ask: Ask, tokenHash: string, now: Instant): Promise<TokenRecord | null> {
  if (!isStorable(tokenHash)) return null;
  const [row] = await ask<TokenRow>(`${SELECT_TOKEN} WHERE token_hash = $1`, [tokenHash]);
  return row === undefined ? null : { token: tokenFromRow(row), now };
}

export async function listTokens(
  ask: Ask,
  { limit, endingWithinMs }: ListTokens,
  now: Instant,
): Promise<readonly TokenRecord[]> {
  const rows =
    endingWithinMs === undefined
      ? await ask<TokenRow>(`${SELECT_TOKEN} ${TOKEN_ORDER} LIMIT $1`, [limit])
      : await ask<TokenRow>(
          `${SELECT_TOKEN} WHERE expires_at > $1 AND expires_at <= $2 ${ENDING_ORDER} LIMIT $3`,
          [now, now + endingWithinMs, limit],
        );
  return rows.map((row) => ({ token: tokenFromRow(row), now }));
}
