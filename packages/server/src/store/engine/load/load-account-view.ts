import type { DecidedCommand } from '../../../core/decide-system.ts';
import type { SystemView } from '../../../core/view.ts';
import { accountFromRow, type TokenRow, tokenFromRow } from '../rows.ts';
import { countOf } from '../sql.ts';
import type { Statements } from '../statements.ts';

type AccountView = Pick<SystemView, 'account' | 'administrators' | 'token'>;

/** What a decision about accounts and tokens sees; nothing for the others. */
export function loadAccountView(statements: Statements, command: DecidedCommand): AccountView {
  const name = accountOf(command);
  const row = name === null ? undefined : statements.account.find({ name });
  const token = findToken(statements, command);
  return {
    account: row === undefined ? null : accountFromRow(row),
    administrators: row === undefined ? 0 : countOf(statements.countAdministrators.get()),
    token: token === undefined ? null : tokenFromRow(token),
  };
}

function accountOf(command: DecidedCommand): string | null {
  // A sign-in that has failed must cost the same whether or not there is such an account.
  if (command.kind === 'sign_in' && command.tokenHash === null) return null;
  if (command.kind === 'create_account') return command.name;
  return 'account' in command ? command.account : null;
}

function findToken(statements: Statements, command: DecidedCommand): TokenRow | undefined {
  switch (command.kind) {
    case 'use_token':
      return statements.findToken.get(command.tokenHash);
    case 'create_token':
      return statements.findTokenByName.get(command.name);
    case 'revoke_token':
      return statements.findTokenById.get({ id: command.tokenId });
    default:
      return undefined;
  }
}
