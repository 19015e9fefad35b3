import type { Token } from '../../../core/access/token.ts';
import type { SystemFacts, SystemNeeds, TokenKey } from '../../../core/system-module.ts';
import { fingerprint } from '../../../secrets/seal.ts';
import { loadHeads } from '../audit/sign-heads.ts';
import { loadChains } from '../audit/thin-audit.ts';
import type { Batch } from '../batch.ts';
import { writtenFromRow } from '../counts/rule-rows.ts';
import { listLicenses, loadReset } from '../move-clock.ts';
import { accountFromRow, cursorFromRow, type TokenRow, tokenFromRow } from '../rows.ts';
import { openChannels, openGrantKeys, openSetting, secretsFromRows } from '../sealed-secrets.ts';
import { countOf } from '../sql.ts';
import type { Statements } from '../statements.ts';
import { findNotice } from './load-view.ts';

/** Loads the facts that a decision on the server asks for, and those that cost nothing. */
export function loadSystemFacts(batch: Batch, needs: SystemNeeds): Partial<SystemFacts> {
  const { statements, rules, masterKey, clock } = batch;
  const server = statements.getServer.get();
  return {
    isSetUp: server?.set_up_at != null,
    usageSequence: server?.usage_sequence ?? 0,
    testClockMs: server?.test_clock_ms ?? null,
    hardwareId: server?.hardware_id ?? null,
    rules,
    ...(needs.account !== undefined && loadAccount(statements, needs.account)),
    ...(needs.token && { token: findToken(statements, needs.token) }),
    ...(needs.notice && { notedValue: findNotice(statements, needs.notice) }),
    ...(needs.cursor && { cursor: cursorFromRow(statements.follower.find({ name: needs.cursor })) }),
    ...(needs.written && { written: writtenFromRow(statements.findRules.get()) }),
    ...(needs.settings && {
      settings: statements.listSettings.all().map((row) => openSetting(row, [masterKey])),
    }),
    ...(needs.masterKey && { masterKeyFingerprint: fingerprint(masterKey) }),
    ...(needs.grantKeys && { grantKeys: loadGrantKeys(batch) }),
    ...(needs.channels && { channels: loadChannels(batch) }),
    ...(needs.clock && { clock }),
    ...(needs.licenses && { licenses: listLicenses(batch) }),
    ...(needs.heads && { heads: loadHeads(batch) }),
    ...(needs.chains && { chains: loadChains(batch, needs.chains) }),
    ...(needs.reset && { reset: loadReset(batch) }),
    ...(needs.historyOf !== undefined && {
      namedRecords: countOf(statements.countNamedHistory.get({ user: needs.historyOf })),
    }),
  };
}

function loadGrantKeys({ statements, masterKey }: Batch): SystemFacts['grantKeys'] {
  return openGrantKeys(secretsFromRows(statements.listSecrets.all()), [masterKey]);
}

function loadChannels({ statements, masterKey }: Batch): SystemFacts['channels'] {
  return openChannels(secretsFromRows(statements.listSecrets.all()), [masterKey]);
}

function loadAccount(
  statements: Statements,
  name: string | null,
): Pick<SystemFacts, 'account' | 'administrators'> {
  const row = name === null ? undefined : statements.account.find({ name });
  return {
    account: row === undefined ? null : accountFromRow(row),
    administrators: row === undefined ? 0 : countOf(statements.countAdministrators.get()),
  };
}

function findToken(statements: Statements, key: TokenKey): Token | null {
  const row = findTokenRow(statements, key);
  return row === undefined ? null : tokenFromRow(row);
}

function findTokenRow(statements: Statements, key: TokenKey): TokenRow | undefined {
  if ('hash' in key) return statements.findToken.get(key.hash);
  return 'name' in key ? statements.findTokenByName.get(key.name) : statements.findTokenById.get(key);
}
