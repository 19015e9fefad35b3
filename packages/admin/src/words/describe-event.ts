import type { AuditEvent } from '@berth/protocol/admin/audit';
import type { Denial } from '@berth/protocol/admin/history';
import { ERRORS, type ErrorCode } from '@berth/protocol/errors';
import { formatAmount } from './numbers.ts';
import { localizeTimes } from './time.ts';

/** What happened, in a sentence without its end. Unknown kinds are shown by their names. */
export function describeEvent(event: AuditEvent): string {
  const say = SENTENCES[event.kind];
  return say === undefined ? sayKind(event.kind) : say(text(event));
}

/** The name of a kind for people: `slot_lent` becomes "Slot lent". */
export function sayKind(kind: string): string {
  const words = kind.replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

type Facts = (name: string) => string;

function text(event: AuditEvent): Facts {
  return (name) => {
    const value = event[name];
    if (value === null || value === undefined) return '';
    if (typeof value === 'number') return formatAmount(value);
    if (Array.isArray(value)) return value.join(', ');
    return typeof value === 'object' ? sayPairs(value) : String(value);
  };
}

/** Such as settings by their names. */
function sayPairs(pairs: object): string {
  return Object.entries(pairs)
    .map(([name, value]) => `${name} ${value ?? 'as by default'}`)
    .join(', ');
}

const feature = (of: Facts) => (of('feature') === '' ? '' : ` of ${of('feature')}`);

/** How many of the user's programs had a slot that is gone. */
const programs = (of: Facts) => (of('programs') === '' ? '' : `; ${of('programs')} programs used it`);

/** What an operator is limited to. */
const limit = (of: Facts) => (of('products') === '' ? '' : ` of ${of('products')}`);

/** Whether somebody else than the user did it. */
const isAct = (of: Facts) => of('by') !== '' && of('by') !== 'client';

/** The rule says more than the code, which several kinds of rules share. */
function sayWhy(of: Facts): string {
  if (of('rule') !== '') return of('rule');
  return of('barred') === '' ? sayCode(of('code')) : `the ${of('barred')} is barred`;
}

const SENTENCES: Readonly<Record<string, (of: Facts) => string>> = {
  slot_lent: (of) => `${of('user')} took a slot`,
  slot_denied: (of) => `${of('user') || 'Somebody'} was refused a slot${feature(of)}: ${sayWhy(of)}`,
  denials_repeated: (of) => {
    const times = `${of('repeated')} times more`;
    return `${of('user') || 'Somebody'} was refused ${times}: ${sayWhy(of)}`;
  },
  consumption_denied: (of) => `Consumption${feature(of)} was refused: ${sayCode(of('code'))}`,
  slot_returned: (of) => {
    const what = isAct(of) ? `${of('by')} released ${of('user')}’s slot` : `${of('user')} returned a slot`;
    return `${what}${programs(of)}`;
  },
  slot_expired: (of) => `The slot of ${of('user')} ended without a heartbeat${programs(of)}`,
  slot_borrowed: (of) => `${of('user')} borrowed a slot`,
  slot_recalled: (of) => `${of('by')} recalled ${of('user')}’s borrowed slot${programs(of)}`,
  borrow_restored: (of) => `The borrow of ${of('user')} that a wrong clock had ended was restored`,
  borrow_not_restored: (of) => `The borrow of ${of('user')} was not restored: ${sayCode(of('code'))}`,
  all_slots_returned: (of) => `${of('by')} released all ${of('count')} slots`,
  all_features_returned: (of) => `All ${of('count')} slots of features were released`,
  feature_lent: (of) => `${of('user')} took a slot of ${of('feature')}`,
  feature_borrowed: (of) => `${of('user')} borrowed a slot of ${of('feature')}`,
  feature_returned: (of) => `${of('user')} returned a slot of ${of('feature')}`,
  feature_expired: (of) => `The slot of ${of('feature')} of ${of('user')} ended without a heartbeat`,
  consumption_added: (of) => {
    const by = of('user') === '' ? '' : ` by ${of('user')}`;
    return `${of('count')} consumed${feature(of)}${by}; the total is ${of('total')}`;
  },
  consumption_reported: (of) => `${of('amount')}${feature(of)} reported to the vendor`,
  report_uncertain: (of) => `It is unknown whether the vendor has counted ${of('amount')}${feature(of)}`,
  report_withdrawn: (of) => `A report of ${of('amount')}${feature(of)} to the vendor was withdrawn`,
  total_corrected: (of) => `The total${feature(of)} was corrected from ${of('before')} to ${of('total')}`,
  license_added: (of) => `The license ${of('product')} was added with ${of('slots')} slots`,
  license_changed: (of) => `The license changed: ${of('changed') || of('verdict')}`,
  license_doubted: (of) => `The vendor answers for another license, ${of('other_id')}`,
  license_removed: (of) => `The license ${of('product')} was removed`,
  certificate_added: () => 'The vendor certified the key that signs grants',
  certificate_wrong: (of) => `The vendor certified another key for ${of('product')}`,
  certificate_missing: (of) => `The vendor no longer certifies a key for ${of('product')}`,
  certificate_right: (of) => `The vendor certifies the key for ${of('product')} again`,
  license_expiring: (of) => `The license ${of('product')} ends soon`,
  license_nearly_full: (of) =>
    `${of('product')}: ${of('in_use')} of ${of('slots')} slots${feature(of)} are in use`,
  license_has_room: (of) => `${of('product')} has room again${feature(of)}`,
  consumption_nearly_used_up: (of) =>
    `${of('product')}: ${of('total')} of ${of('max')}${feature(of)} are used up`,
  consumption_has_room: (of) => `${of('product')} can be consumed again${feature(of)}`,
  signed_in: (of) => {
    const left = of('recovery_codes_left');
    const did = of('confirms') === '' ? 'signed in' : `confirmed ${of('confirms')}`;
    return `${of('account')} ${did}${left === '' ? '' : ` with a recovery code; ${left} are left`}`;
  },
  sign_in_failed: (of) => {
    const why = of('reason') === '' ? '' : `: ${of('reason').replace(/\.$/, '')}`;
    const what = of('confirms') === '' ? 'sign in' : `confirm ${of('confirms')}`;
    return `Somebody failed to ${what} as ${of('account')}${why}`;
  },
  account_created: (of) => `The account ${of('account')} was added as ${of('role')}${limit(of)}`,
  account_removed: (of) => `The account ${of('account')} was removed`,
  role_changed: (of) => `${of('account')} became ${of('role')}${limit(of)}, from ${of('before')}`,
  password_changed: (of) => `The password of ${of('account')} was changed`,
  second_factor_set: (of) => `${of('account')} has a second factor now`,
  second_factor_removed: (of) => `The second factor of ${of('account')} was removed`,
  second_factor_asked: (of) => `${of('account')} was asked for the code of the second factor`,
  token_created: (of) => `The token ${of('name')} was created`,
  token_revoked: (of) => `The token ${of('name') || of('token_id')} was revoked`,
  token_expiring: (of) => `The token ${of('name') || of('token_id')} ends soon`,
  cloud_keys_set: () => 'The keys for the licensing cloud were set',
  rules_changed: (of) => `Revision ${of('revision')} of the rules was applied`,
  group_changed: (of) => `The directory told other members of the group ${of('group')}`,
  groups_outdated: (of) =>
    `The directory has not told who is in groups of the rules: ${of('reason').replace(/\.$/, '')}`,
  groups_up_to_date: () => 'The directory tells again who is in the groups of the rules',
  cloud_unreachable: () => 'The licensing cloud cannot be reached',
  cloud_reachable: () => 'The licensing cloud can be reached again',
  cloud_held_to_nonces: () => 'From now on the licensing cloud must bind its answers to requests',
  cloud_released_from_nonces: () => 'Answers of the licensing cloud need not be bound to requests again',
  offline_request_made: (of) => `A file for the ${of('request')} of a license was made`,
  usage_file_made: () => 'A file with what was consumed was made',
  clock_jumped: (of) => `The clock of the machine went ${of('direction')}`,
  clock_accepted: () => 'The time of the machine was accepted',
  clock_reset: () => 'The clock of the server was set back',
  test_clock_started: () => 'The server was started with a test clock',
  identity_changed: () => 'The server, or a copy of its data, runs on another machine',
  master_key_rotated: () => 'The master key was replaced',
  master_key_exported: () => 'The master key was exported',
  grant_key_rotated: () => 'The key that signs grants was replaced',
  certificate_expiring: (of) => `The TLS certificate of ${of('hostname')} ends soon`,
  disk_space_low: (of) => `The disk of ${of('hostname')} is filling up`,
  disk_space_recovered: (of) => `The disk of ${of('hostname')} has room again`,
  server_started: (of) => `The server was started, version ${of('version')}`,
  server_stopped: () => 'The server was stopped',
  backup_made: (of) => `A backup was made${of('file') === '' ? '' : `: ${of('file')}`}`,
  backup_failed: (of) => `The backup failed: ${of('reason')}`,
  backup_overdue: () => 'The scheduled backup is overdue',
  backup_restored: () => 'All data was replaced by that of a backup',
  user_forgotten: () => 'A user was forgotten',
  heads_signed: () => 'The audit log was signed',
  audit_thinned: (of) => `Events before ${of('before')} were replaced by totals`,
  settings_changed: (of) => `Settings changed: ${of('settings')}`,
  webhook_secret_set: () => 'The webhook has a new secret',
  channel_set: (of) =>
    of('changed') === ''
      ? `The channel ${of('channel')} was added`
      : `The channel ${of('channel')} was changed: ${of('changed')}`,
  channel_removed: (of) => `The channel ${of('channel')} was removed`,
  bar_added: (of) => `The ${of('barred')} ${of('pattern')} was barred`,
  bar_removed: (of) => `The ${of('barred')} ${of('pattern')} is no longer barred`,
};

/** Every kind, for filters. */
export const EVENT_KINDS: readonly string[] = Object.keys(SENTENCES);

/** Why something was refused, in a few words. */
export function sayCode(code: string): string {
  const title = Object.hasOwn(ERRORS, code) ? ERRORS[code as ErrorCode].title : code.replaceAll('_', ' ');
  return `${title.charAt(0).toLowerCase()}${title.slice(1)}`;
}

/** Why it was refused, with the name of the license instead of its product code, and in local time. */
export function sayDenial({ explanation, product, name }: Denial, now: number): string {
  const named = explanation.replaceAll(`"${product}"`, () => name || product);
  return localizeTimes(named, now);
}

/** A user of the history, who may have no name there. */
export function sayUser({
  user,
  others,
}: {
  readonly user: string | null;
  readonly others: boolean;
}): string {
  return user ?? (others ? 'others' : 'nobody named');
}

/** Who did it: an account, an address, or the server itself. */
export function sayActor({ by, origin }: AuditEvent): string {
  const who = typeof by === 'string' ? by : '';
  if (typeof origin !== 'string') return who === '' ? 'server' : who;
  return who === '' || who === 'client' ? origin : `${who}, ${origin}`;
}
