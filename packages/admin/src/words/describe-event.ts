import type { AuditEvent } from '@berth/protocol/admin/audit';
import { ERRORS, type ErrorCode } from '@berth/protocol/errors';
import { formatAmount } from './numbers.ts';

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

const SENTENCES: Readonly<Record<string, (of: Facts) => string>> = {
  slot_lent: (of) => `${of('user')} took a slot`,
  slot_denied: (of) => {
    const why = of('barred') === '' ? sayCode(of('code')) : `the ${of('barred')} is barred`;
    return `${of('user') || 'Somebody'} was denied a slot${feature(of)}: ${why}`;
  },
  denials_repeated: (of) => {
    const times = `${of('repeated')} times more`;
    return `${of('user') || 'Somebody'} was denied ${times}: ${sayCode(of('code'))}`;
  },
  consumption_denied: (of) => `Consumption${feature(of)} was denied: ${sayCode(of('code'))}`,
  slot_returned: (of) => `${of('user')} returned a slot`,
  slot_expired: (of) => `The slot of ${of('user')} ended without a heartbeat`,
  slot_borrowed: (of) => `${of('user')} borrowed a slot`,
  slot_recalled: (of) => `The borrowed slot of ${of('user')} was recalled`,
  all_slots_returned: (of) => `All ${of('count')} slots were released`,
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
  total_corrected: (of) => `The total${feature(of)} was corrected from ${of('before')} to ${of('total')}`,
  license_added: (of) => `The license ${of('product')} was added with ${of('slots')} slots`,
  license_changed: (of) => `The license changed: ${of('changed') || of('verdict')}`,
  license_removed: (of) => `The license ${of('product')} was removed`,
  license_expiring: (of) => `The license ${of('product')} ends soon`,
  license_nearly_full: (of) =>
    `${of('product')}: ${of('in_use')} of ${of('slots')} slots${feature(of)} are in use`,
  license_has_room: (of) => `${of('product')} has room again${feature(of)}`,
  signed_in: (of) => `${of('account')} signed in`,
  sign_in_failed: (of) => `Somebody failed to sign in as ${of('account')}`,
  account_created: (of) => `The account ${of('account')} was added as ${of('role')}`,
  account_removed: (of) => `The account ${of('account')} was removed`,
  role_changed: (of) => `${of('account')} became ${of('role')}, from ${of('before')}`,
  password_changed: (of) => `The password of ${of('account')} was changed`,
  token_created: (of) => `The token ${of('name')} was created`,
  token_revoked: (of) => `The token ${of('name') || of('token_id')} was revoked`,
  cloud_keys_set: () => 'The keys for the licensing cloud were set',
  rules_changed: (of) =>
    `The rules bar ${of('users')} users, ${of('hosts')} hosts and ${of('addresses')} addresses`,
  cloud_unreachable: () => 'The licensing cloud cannot be reached',
  cloud_reachable: () => 'The licensing cloud can be reached again',
  clock_jumped: (of) => `The clock of the machine went ${of('direction')}`,
  server_started: (of) => `The server was started, version ${of('version')}`,
  server_stopped: () => 'The server was stopped',
  backup_made: (of) => `A backup was made${of('file') === '' ? '' : `: ${of('file')}`}`,
  backup_failed: (of) => `The backup failed: ${of('reason')}`,
  heads_signed: () => 'The audit log was signed',
  audit_thinned: (of) => `Events before ${of('before')} were replaced by totals`,
  settings_changed: (of) => `Settings changed: ${of('settings')}`,
  webhook_secret_set: () => 'The webhook has a new secret',
  bar_added: (of) => `The ${of('barred')} ${of('pattern')} was barred`,
  bar_removed: (of) => `The ${of('barred')} ${of('pattern')} is no longer barred`,
};

/** The kinds that have a sentence, for filters. */
export const EVENT_KINDS: readonly string[] = Object.keys(SENTENCES);

/** Why something was denied, in a few words. */
export function sayCode(code: string): string {
  const title = Object.hasOwn(ERRORS, code) ? ERRORS[code as ErrorCode].title : code.replaceAll('_', ' ');
  return `${title.charAt(0).toLowerCase()}${title.slice(1)}`;
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
