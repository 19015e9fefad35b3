import type { SystemChange } from '../../../core/decision.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import { tokenRow } from '../rows.ts';
import type { Statements } from '../statements.ts';

/** Programs that sign in again and again keep this many tokens of one account. */
const MAX_TOKENS_OF_ACCOUNT = 10_000;

export type AccountChange = Extract<
  SystemChange,
  {
    kind:
      | 'put_account'
      | 'put_password'
      | 'put_role'
      | 'remove_account'
      | 'end_setup'
      | 'remove_setup_tokens'
      | 'use_one_time_password'
      | 'free_token'
      | 'put_token'
      | 'touch_token'
      | 'remove_token'
      | 'remove_tokens_of'
      | 'remove_dead_tokens';
  }
>;

/** Writes what was decided about accounts and tokens. */
export function applyAccountChange(statements: Statements, now: Instant, change: AccountChange): void {
  switch (change.kind) {
    case 'put_account':
      addAccount(statements, now, change);
      break;
    case 'put_password': {
      const { name, passwordHash, oneTime } = change;
      statements.putPassword.run(passwordHash, oneTime ? 1 : 0, oneTime ? now : null, name);
      break;
    }
    case 'put_role':
      statements.putRole.run(change.role, change.name);
      break;
    case 'remove_account':
      statements.account.remove({ name: change.name });
      break;
    case 'end_setup':
      statements.endSetup.run(now);
      break;
    case 'remove_setup_tokens':
      statements.removeSetupTokens.run(change.except ?? '');
      break;
    case 'use_one_time_password':
      statements.useOneTimePassword.run(change.name);
      break;
    case 'free_token':
      statements.freeToken.run(change.tokenHash);
      break;
    case 'put_token': {
      const { account } = change.token;
      statements.token.add(tokenRow(change.tokenHash, change.token));
      if (account !== null) statements.removeSurplusTokens.run(account, MAX_TOKENS_OF_ACCOUNT);
      break;
    }
    case 'touch_token':
      statements.touchToken.run(now, change.tokenHash);
      break;
    case 'remove_token':
      statements.removeToken.run(change.tokenId);
      break;
    case 'remove_tokens_of':
      statements.removeTokensOf.run(change.account, change.except ?? '');
      break;
    case 'remove_dead_tokens':
      statements.removeDeadTokens.run(change.authUsedBy, change.sessionIssuedBy);
      break;
  }
}

function addAccount(
  statements: Statements,
  now: Instant,
  { name, role, passwordHash, oneTime }: Extract<AccountChange, { kind: 'put_account' }>,
): void {
  statements.account.add({
    name,
    role,
    password_hash: passwordHash,
    one_time: oneTime ? 1 : 0,
    created_at: now,
    one_time_at: oneTime ? now : null,
    one_time_used: 0,
  });
}
