import type { CloudKeyName } from './audit-event.ts';
import type {
  CreateAccount,
  NumberUsage,
  OpenRequest,
  RecordEvent,
  RotateMasterKey,
  SetCloudKeys,
  SignIn,
  UseToken,
} from './command.ts';
import { decideNotice, type NoticeCommand } from './decide-notice.ts';
import type { SystemChange, SystemDecision } from './decision.ts';
import { HOUR_MS, type Instant, plus } from './instant.ts';
import type { SystemView } from './view.ts';

/** A token from `/auth` lives this long after its last use; clients of this API never ask for another. */
export const TOKEN_LIFETIME_MS = 30 * 24 * HOUR_MS;

/** A token's last use is written at most this often, so that using one does not cost a write each time. */
const TOKEN_TOUCH_INTERVAL_MS = HOUR_MS;

export type AccountCommand =
  | CreateAccount
  | SignIn
  | UseToken
  | RecordEvent
  | SetCloudKeys
  | RotateMasterKey
  | OpenRequest
  | NumberUsage
  | NoticeCommand;

export function isTokenAlive(usedAt: Instant, now: Instant): boolean {
  return now < usedAt + TOKEN_LIFETIME_MS;
}

/** Accounts, tokens, secrets and the server's own life. */
export function decideSystem(command: AccountCommand, view: SystemView, now: Instant): SystemDecision {
  switch (command.kind) {
    case 'create_account':
      return decideCreateAccount(command, view);
    case 'sign_in':
      return decideSignIn(command, now);
    case 'use_token':
      return decideUseToken(command, view, now);
    case 'record_event':
      return { outcome: { kind: 'done', count: 1 }, changes: [], events: [command.event] };
    case 'set_cloud_keys':
      return decideSetCloudKeys(command);
    case 'rotate_master_key':
      return decideRotateMasterKey(command, view);
    case 'open_request':
      return decideOpenRequest(command);
    case 'number_usage':
      return decideNumberUsage(command, view);
    case 'note':
    case 'set_webhook_cursor':
      return decideNotice(command, view);
  }
}

/** Creating an account that is there changes nothing: the first start may be tried again. */
function decideCreateAccount(command: CreateAccount, view: SystemView): SystemDecision {
  if (view.accountExists) return { outcome: { kind: 'done', count: 0 }, changes: [], events: [] };
  const { name, role, passwordHash, oneTime, by } = command;
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [{ kind: 'put_account', name, role, passwordHash, oneTime }],
    events: [{ kind: 'account_created', account: name, role, by }],
  };
}

function decideSignIn({ account, address, tokenHash }: SignIn, now: Instant): SystemDecision {
  if (tokenHash === null) {
    return {
      outcome: { kind: 'done', count: 0 },
      changes: [],
      events: [{ kind: 'sign_in_failed', account, address }],
    };
  }
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [
      { kind: 'remove_tokens', lastUsedBy: plus(now, -TOKEN_LIFETIME_MS) },
      { kind: 'put_token', tokenHash, account },
    ],
    events: [{ kind: 'signed_in', account, address }],
  };
}

function decideUseToken({ tokenHash }: UseToken, view: SystemView, now: Instant): SystemDecision {
  const isDue = view.tokenUsedAt !== null && now >= view.tokenUsedAt + TOKEN_TOUCH_INTERVAL_MS;
  return {
    outcome: { kind: 'done', count: isDue ? 1 : 0 },
    changes: isDue ? [{ kind: 'touch_token', tokenHash }] : [],
    events: [],
  };
}

/** Both in one decision, so that two callers never leave one key of each behind. */
function decideSetCloudKeys({ apiKey, sharedKey, fingerprints, by }: SetCloudKeys): SystemDecision {
  const changes: SystemChange[] = [];
  const changed: CloudKeyName[] = [];
  if (apiKey !== null) {
    changes.push({ kind: 'put_secret', name: 'cloud_api_key', secret: apiKey });
    changed.push('api_key');
  }
  if (sharedKey !== null) {
    changes.push({ kind: 'put_secret', name: 'cloud_shared_key', secret: sharedKey });
    changed.push('shared_key');
  }
  const told = {
    apiKeyFingerprint: apiKey === null ? null : fingerprints.apiKey,
    sharedKeyFingerprint: sharedKey === null ? null : fingerprints.sharedKey,
  };
  const events = changed.length === 0 ? [] : [{ kind: 'cloud_keys_set', changed, ...told, by } as const];
  return { outcome: { kind: 'done', count: changed.length }, changes, events };
}

/** To the key that is in force already there is nothing to do: a request that is repeated does no harm. */
function decideRotateMasterKey(command: RotateMasterKey, view: SystemView): SystemDecision {
  const { newKey, newFingerprint: to, by } = command;
  const from = view.masterKeyFingerprint ?? '';
  if (from === to) return { outcome: { kind: 'done', count: 0 }, changes: [], events: [] };
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [{ kind: 'reseal_secrets', newKey }],
    events: [{ kind: 'master_key_rotated', from, to, by }],
  };
}

function decideOpenRequest({ requestId, request, product, by }: OpenRequest): SystemDecision {
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [{ kind: 'add_request', requestId, request, product }],
    events: [{ kind: 'offline_request_made', requestId, request, product, by }],
  };
}

/** Every file has a number of its own, and a later one a higher. */
function decideNumberUsage({ by }: NumberUsage, view: SystemView): SystemDecision {
  const sequence = view.usageSequence + 1;
  return {
    outcome: { kind: 'done', count: sequence },
    changes: [{ kind: 'set_usage_sequence', sequence }],
    events: [{ kind: 'usage_file_made', sequence, by }],
  };
}
