import type { Role } from '../../../core/access/role.ts';
import type { Token } from '../../../core/access/token.ts';
import type { KeptAccount, SystemFacts, SystemNeeds, TokenKey } from '../../../core/system-module.ts';
import { fingerprint } from '../../../secrets/seal.ts';
import { loadHeads } from '../audit/sign-heads.ts';
import { loadChains } from '../audit/thin-audit.ts';
import type { Batch } from '../batch.ts';
import { listLicenses, loadReset } from '../move-clock.ts';
import { cursorFromRow, oneTimeFromRow, type Row, tokenFromRow } from '../rows.ts';
import type { Statements } from '../statements.ts';
import { countOf, findNotice } from './load-view.ts';

/** What a decision about the server itself sees: the facts that it asked for, and those that cost little. */
export function loadSystemFacts(batch: Batch, needs: SystemNeeds): Partial<SystemFacts> {
  const { statements, rules, masterKey, clock } = batch;
  const server = statements.getServer.get();
  return {
    isSetUp: server?.set_up_at != null,
    usageSequence: server?.usage_sequence as number,
    hardwareId: (server?.hardware_id as string | null | undefined) ?? null,
    webhookCursor: cursorFromRow(server),
    rules,
    ...(needs.account !== undefined && loadAccount(statements, needs.account)),
    ...(needs.token && { token: findToken(statements, needs.token) }),
    ...(needs.notice && { notedValue: findNotice(statements, needs.notice) }),
    ...(needs.masterKey && { masterKeyFingerprint: fingerprint(masterKey) }),
    ...(needs.clock && { clock: { jump: clock.jump, wall: clock.readWall() } }),
    ...(needs.licenses && { licenses: listLicenses(batch) }),
    ...(needs.heads && { heads: loadHeads(batch) }),
    ...(needs.chains && { chains: loadChains(batch, needs.chains) }),
    ...(needs.reset && { reset: loadReset(batch) }),
  };
}

function loadAccount(
  statements: Statements,
  name: string | null,
): Pick<SystemFacts, 'account' | 'administrators'> {
  const row = name === null ? undefined : statements.findAccount.get(name);
  return {
    account: row === undefined ? null : accountFromRow(row),
    administrators: row === undefined ? 0 : countOf(statements.countAdministrators.get()),
  };
}

function accountFromRow(row: Row): KeptAccount {
  return {
    role: row.role as Role,
    passwordHash: row.password_hash as string,
    oneTime: oneTimeFromRow(row),
  };
}

function findToken(statements: Statements, key: TokenKey): Token | null {
  const row = findTokenRow(statements, key);
  return row === undefined ? null : tokenFromRow(row);
}

function findTokenRow(statements: Statements, key: TokenKey): Row | undefined {
  if ('hash' in key) return statements.findToken.get(key.hash);
  return 'name' in key ? statements.findTokenByName.get(key.name) : statements.findTokenById.get(key);
}
