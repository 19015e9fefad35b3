import type { Command } from './command.ts';
import type { SystemChange, SystemDecision } from './decision.ts';
import type { CloudKeyName } from './nouns/audit-event.ts';
import type { Instant } from './nouns/instant.ts';
import { type AccountCommand, decideAccount } from './system/account.ts';
import { decideNotice, type NoticeCommand } from './system/notice.ts';
import type {
  NumberUsage,
  OpenRequest,
  RecordEvent,
  RotateMasterKey,
  SetCloudKeys,
} from './system-command.ts';
import type { SystemView } from './view.ts';

/** Those that a decision answers; what moves the clock or the identity is the store's own. */
export type DecidedCommand =
  | AccountCommand
  | RecordEvent
  | SetCloudKeys
  | RotateMasterKey
  | OpenRequest
  | NumberUsage
  | NoticeCommand;

const DECIDED: ReadonlySet<Command['kind']> = new Set<DecidedCommand['kind']>([
  'create_account',
  'set_password',
  'set_role',
  'remove_account',
  'sign_in',
  'use_token',
  'create_token',
  'revoke_token',
  'record_event',
  'set_cloud_keys',
  'rotate_master_key',
  'open_request',
  'number_usage',
  'note',
  'set_webhook_cursor',
]);

export function isDecided(command: Command): command is DecidedCommand {
  return DECIDED.has(command.kind);
}

/** Accounts, tokens, secrets and the server's own life. */
export function decideSystem(command: DecidedCommand, view: SystemView, now: Instant): SystemDecision {
  switch (command.kind) {
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
      return decideNotice(command, view, now);
    default:
      return decideAccount(command, view, now);
  }
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
