import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import { formatFacts, formatTable, paint, type Style } from '@berth/shell/console/console-text';
import type { CallOf } from '@berth/shell/console/hints';
import type { AdminAnswer, AdminClient } from '../admin-client.ts';
import { LICENSE_SYNONYM, LICENSE_USAGE, licenseOf, scopeOf } from '../choose-license.ts';
import { type Command, defineCommand, type Flags } from '../command.ts';
import { hasPart, nobody, suggestUsers } from '../near-users.ts';
import { InputError } from '../read-secrets.ts';
import { AUDIT_COMMANDS } from './audit-commands.ts';
import { BACKUP_COMMANDS } from './backup-commands.ts';
import { BAR_COMMANDS } from './bar-commands.ts';
import { CLOUD_COMMANDS } from './cloud-commands.ts';
import { CONFIG_COMMANDS } from './config-commands.ts';
import { DOCTOR_COMMANDS } from './doctor-commands.ts';
import { EVENT_COMMANDS } from './event-commands.ts';
import { HISTORY_COMMANDS } from './history-commands.ts';
import { IDENTITY_COMMANDS } from './identity-commands.ts';
import { KEY_COMMANDS } from './key-commands.ts';
import { LINE_COMMANDS } from './line-commands.ts';
import { MOVE_COMMANDS } from './move-commands.ts';
import { NOTIFY_COMMANDS } from './notify-commands.ts';
import { OFFLINE_COMMANDS } from './offline-commands.ts';
import { RULE_TEXT_COMMANDS } from './rule-text-commands.ts';
import { RULE_TRIAL_COMMANDS } from './rule-trial-commands.ts';
import { RULES_COMMANDS } from './rules-commands.ts';
import { SERVICE_COMMANDS } from './service-commands.ts';
import { SHOW_CONFIG_COMMANDS } from './show-config.ts';
import { CLOCK_COMMANDS, STATUS_COMMANDS } from './status-commands.ts';
import { SUPPORT_COMMANDS } from './support-commands.ts';
import { TEST_CLOCK_COMMANDS } from './test-clock-commands.ts';
import { USER_COMMANDS } from './user-commands.ts';

type Facts = Readonly<Record<string, unknown>>;
type License = GetAnswer<'/api/admin/licenses'>['licenses'][number];
type Registrations = GetAnswer<'/api/admin/registrations'>;
type Registration = Registrations['registrations'][number];

export const COMMANDS: readonly Command[] = [
  ...STATUS_COMMANDS,
  ...DOCTOR_COMMANDS,
  ...SUPPORT_COMMANDS,
  ...SHOW_CONFIG_COMMANDS,
  ...CONFIG_COMMANDS,
  ...CLOCK_COMMANDS,
  ...TEST_CLOCK_COMMANDS,
  defineCommand({
    words: 'license list',
    usage: LICENSE_USAGE,
    otherFlags: LICENSE_SYNONYM,
    about: 'list the licenses',
    ask: async (client, _, flags) => client.get('/api/admin/licenses', await scopeOf(client, flags)),
    show: showLicenses,
  }),
  defineCommand({
    words: 'license show',
    arguments: ['ID'],
    about: 'show one license in full; a unique part of the id or the product is enough',
    ask: askLicense,
    show: showLicense,
  }),
  ...CLOUD_COMMANDS,
  ...OFFLINE_COMMANDS,
  defineCommand({
    words: 'registration list',
    usage: `${LICENSE_USAGE} [--user U] [--address ADDRESS|RANGE]`,
    otherFlags: LICENSE_SYNONYM,
    about: 'list who holds a slot; a part of the name of a user is enough',
    ask: askRegistrations,
    show: showRegistrations,
  }),
  defineCommand({
    words: 'registration release',
    arguments: ['[USER]'],
    usage: `${LICENSE_USAGE} [--address ADDRESS|RANGE]`,
    otherFlags: LICENSE_SYNONYM,
    about: 'release a slot that is not borrowed, or all slots of an address, including borrowed ones',
    ask: async (client, [user], flags) => {
      const body = { user, address: flags.address, ...(await slotOf(client, user, flags, false)) };
      return explain(client, user, await client.post('/api/admin/registrations/release', body));
    },
    show: ({ released }) => (released === 1 ? 'The slot is free.' : `Released ${released} slots.`),
  }),
  defineCommand({
    words: 'registration recall',
    arguments: ['USER'],
    usage: LICENSE_USAGE,
    otherFlags: LICENSE_SYNONYM,
    about: 'recall a borrowed slot before it ends',
    ask: async (client, [user], flags) => {
      const body = { user, ...(await slotOf(client, user, flags, true)) };
      return explain(client, user, await client.post('/api/admin/registrations/recall', body));
    },
    show: () => 'The slot is free. The borrower can still work offline until the borrow ends.',
  }),
  ...LINE_COMMANDS,
  ...HISTORY_COMMANDS,
  ...AUDIT_COMMANDS,
  ...RULES_COMMANDS,
  ...RULE_TEXT_COMMANDS,
  ...RULE_TRIAL_COMMANDS,
  ...BAR_COMMANDS,
  ...EVENT_COMMANDS,
  ...NOTIFY_COMMANDS,
  ...KEY_COMMANDS,
  ...IDENTITY_COMMANDS,
  ...USER_COMMANDS,
  ...BACKUP_COMMANDS,
  ...MOVE_COMMANDS,
  ...SERVICE_COMMANDS,
];

/**
 * Without flags, the only slot of the user is meant; a slot that is borrowed, or not, as the command needs it
 * comes first. Throws with the candidates if there are several.
 */
async function slotOf(client: AdminClient, user: string | undefined, flags: Flags, isBorrowed: boolean) {
  const scope = await scopeOf(client, flags);
  if (user === undefined || scope.product !== undefined || scope.license_id !== undefined) return scope;
  const answer = await askRegistrations(client, [], { user });
  const name = user.normalize('NFC').trim();
  const held = answer.ok ? answer.body.registrations.filter((one) => one.user === name) : [];
  const fitting = held.filter(({ is_borrowed }) => is_borrowed === isBorrowed);
  const slots = fitting.length === 0 ? held : fitting;
  if (slots.length > 1) {
    const all = slots.map(({ license_id, product }) => `${license_id} (${product})`).join(', ');
    throw new InputError(`"${name}" holds several slots. Choose one with --license: ${all}.`);
  }
  return { ...scope, license_id: slots[0]?.license_id };
}

/** The server's messages name fields; these name the arguments and flags, and users with similar names. */
async function explain<Body>(
  client: AdminClient,
  user: string | undefined,
  answer: AdminAnswer<Body>,
): Promise<AdminAnswer<Body>> {
  if (answer.ok) return answer;
  const { code, message } = answer.body;
  if (code !== 'device_not_found' && code !== 'missing_parameters') return answer;
  const known = message
    .replace('Name the "product"', () => `"${user}" holds no slot. Check the name, or add --product`)
    .replace('"user" is missing', 'name USER, or --address');
  const near = user === undefined ? '' : await suggestUsers(client, user);
  return { ok: false, body: { ...answer.body, message: `${known} ${near}`.trimEnd() } };
}

async function askLicense(client: AdminClient, [given]: readonly string[]): Promise<AdminAnswer<License>> {
  const id = await licenseOf(client, { license: given });
  const answer = await client.get('/api/admin/licenses', { license_id: id });
  if (!answer.ok) return answer;
  const [license] = answer.body.licenses;
  if (license !== undefined) return { ok: true, body: license };
  const message = `This server holds no license with the id ${id}.`;
  return { ok: false, body: { status: 400, code: 'license_not_found', message } };
}

/** All pages. */
async function askRegistrations(
  client: AdminClient,
  _: readonly string[],
  flags: Flags,
): Promise<AdminAnswer<{ readonly registrations: readonly Registration[] }>> {
  const all: Registration[] = [];
  const { user: part = '', address } = flags;
  const query = { ...(await scopeOf(client, flags)), search: flags.user, address };
  let next: Registrations['next'] = {};
  for (;;) {
    const answer: AdminAnswer<Registrations> = await client.get('/api/admin/registrations', {
      ...query,
      ...next,
    });
    if (!answer.ok) return answer;
    // The search also finds hosts and addresses.
    const found = answer.body.registrations.filter(({ user }) => hasPart(user, part));
    for (const registration of found) all.push(registration);
    next = answer.body.next;
    if (next === null) return { ok: true, body: { registrations: all } };
  }
}

function showLicenses({ licenses }: { readonly licenses: readonly License[] }): string {
  if (licenses.length === 0) return 'No licenses.';
  const rows = licenses.map((license) => [
    license.id,
    license.product,
    sayState(license.state),
    sayEnd(license),
    license.source,
    license.floating_users,
    license.floating_in_use,
    license.borrowed,
  ]);
  return formatTable(['id', 'product', 'state', 'ends at', 'source', 'slots', 'in use', 'borrowed'], rows);
}

const STATE_STYLES: Readonly<Record<string, Style>> = { active: 'green', in_grace: 'yellow' };

/** A license in any other state lends nothing. */
function sayState(state: string): string {
  return paint(STATE_STYLES[state] ?? 'red', state);
}

function sayEnd({ state, ends_at }: License): string {
  if (ends_at === null) return 'never';
  return state === 'in_grace' ? `${ends_at} (grace)` : ends_at;
}

function showLicense({ product_features, ...rest }: License, callOf: CallOf): string {
  const license = sayAssurance(rest, callOf);
  if (product_features.length === 0) return formatFacts(license);
  const columns = [
    'code',
    'feature_type',
    'total_consumptions',
    'max_consumptions',
    'floating_in_use_devices',
    'floating_users',
  ] as const;
  const heading = ['feature', 'type', 'consumed', 'of', 'slots in use', 'of'];
  const rows = product_features.map((feature) => columns.map((name) => feature[name]));
  return `${formatFacts(license)}\n\n${formatTable(heading, rows)}`;
}

/** Describes how far the cloud's answers about a license can be trusted. */
function sayAssurance(license: Omit<License, 'product_features'>, callOf: CallOf): Facts {
  const {
    cloud_answers_bound: isBound,
    unconfirmed_verdict: verdict,
    lower_total_kept_out: keptTotal,
    answered_license_id: otherId,
    ...rest
  } = license;
  if (isBound === undefined) return rest;
  const answers =
    isBound === true
      ? 'bound to requests'
      : 'not bound to requests: recorded answers could be replayed; see SECURITY.md';
  return {
    ...rest,
    'cloud answers': answers,
    ...(verdict == null
      ? {}
      : { 'unconfirmed verdict': `${verdict}: takes effect if the next check confirms it` }),
    ...(otherId == null ? {} : { 'cloud answers for': `license ${otherId}; see "${callOf('doctor')}"` }),
    ...(keptTotal === true
      ? {
          'cloud total': `lower than before, ignored; "${callOf('license sync --accept-older')}" accepts it`,
        }
      : {}),
  };
}

function showRegistrations(
  { registrations }: { readonly registrations: readonly Registration[] },
  _: CallOf,
  { user }: Flags,
): string {
  if (registrations.length === 0) return `${nobody(user)} holds a slot.`;
  const rows = registrations.map((record) => [
    record.license_id,
    record.product,
    record.user,
    record.os_hostname,
    sayAddress(record),
    record.registered_at,
    record.ends_at,
    record.is_borrowed,
    record.programs,
  ]);
  const heading = ['license', 'product', 'user', 'host', 'address', 'since', 'until', 'borrowed', 'programs'];
  return formatTable(heading, rows);
}

/** The address of the last request, and the one the application reports if it differs. */
function sayAddress({ address, ip_local: stated }: Registration): string | null {
  if (stated === null || stated === address) return address;
  return address === null ? `says ${stated}` : `${address} (says ${stated})`;
}
