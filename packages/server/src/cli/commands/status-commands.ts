import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import { formatFacts, paint } from '@berth/shell/console/console-text';
import type { CallOf } from '@berth/shell/console/hints';
import { sayLength } from '../../core/doctor/judge-machine.ts';
import { type AdminAnswer, type AdminClient, withFacts } from '../admin-client.ts';
import { type Command, defineCommand } from '../command.ts';
import { sayState } from './notify-commands.ts';
import { askReset, isRefusedReset, showReset } from './reset-clock.ts';

/** Whether the server runs and works, and its clock. */
export const STATUS_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'status',
    about: 'show whether the server runs, and its state; fails if it does not run or work',
    ask: askStatus,
    show: showStatus,
    isFailure: ({ url, healthy }) => url === null || !healthy,
  }),
];

export const CLOCK_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'clock',
    about: "compare the server's time with the wall clock",
    ask: (client) => client.get('/api/admin/clock'),
    show: showClock,
  }),
  defineCommand({
    words: 'clock accept',
    about: 'accept a wall clock that jumped ahead',
    ask: (client) => client.post('/api/admin/clock/accept'),
    show: showClock,
  }),
  defineCommand({
    words: 'clock reset',
    usage: '[--dry-run] [--yes]',
    about: 'return to the wall clock after it was wrong, and restore borrows that this ended',
    ask: askReset,
    show: (answer, callOf) => showReset(answer, (clock) => showClock(clock, callOf)),
    isFailure: (answer) => isRefusedReset(answer),
  }),
];

type Status = GetAnswer<'/api/admin/status'> & {
  readonly channels: GetAnswer<'/api/admin/channels'>['channels'];
};
type Clock = GetAnswer<'/api/admin/clock'>;

async function askStatus(client: AdminClient): Promise<AdminAnswer<Status>> {
  const [status, listed] = [await client.get('/api/admin/status'), await client.get('/api/admin/channels')];
  return withFacts(status, { channels: listed.ok ? listed.body.channels : [] });
}

function showStatus(status: Status, callOf: CallOf): string {
  const { clock, store, tls, master_key: key } = status;
  const facts = {
    version: status.version,
    data: status.data,
    store: sayStore(status),
    licenses: store.licenses,
    'slots in use': store.registrations,
    cloud: sayCloud(status.cloud),
    webhooks: sayDelivery(status.webhooks),
    ...sayChannels(status),
    ...(status.syslog.state === 'off' ? {} : { syslog: sayDelivery(status.syslog) }),
    ...(status.events_file.state === 'off' ? {} : { 'events file': sayDelivery(status.events_file) }),
    backup: sayBackup(status.backup),
    ...(tls === null ? {} : { certificate: sayCertificate(tls) }),
    clock: store.has_test_clock ? paint('yellow', 'TEST CLOCK, not the real time') : sayClock(clock),
    'hardware id': status.hardware_id,
    'identity key': status.identity_key,
    'master key': `${key.fingerprint}, from ${key.file ?? 'the environment'}`,
  };
  const password = `An administrator still has the one-time password: "${callOf('user password admin')}".`;
  return [
    sayRunning(status),
    formatFacts(facts),
    ...(store.is_one_time_password_in_use ? [password] : []),
    ...(clock === null || isInStep(clock) ? [] : [showClock(clock, callOf)]),
  ].join('\n');
}

function sayRunning({ url, uptime_seconds: seconds, healthy }: Status): string {
  if (url === null) return `${paint('red', 'Not running.')} This is what its data says:`;
  const running = `Running at ${url} for ${sayLength(seconds * 1000)}`;
  if (healthy) return paint('green', `${running}.`);
  return paint(
    'red',
    `${running}, but the store does not work: clients get 503. See the log for the reason.`,
  );
}

function sayStore({ store: { engine, host, schema_version }, database, leader }: Status): string {
  const said = `${engine}, schema ${schema_version}`;
  if (database === null) return said;
  const inUse = database.includes(',') ? `, now at ${host}` : '';
  return `${said}, ${database}${inUse}; ${leader ? 'this server leads' : 'another server leads'}`;
}

function sayCloud({ state, reached_at, failing_at, error, ...reports }: Status['cloud']): string {
  const since = failing_at === null ? '' : ` since ${failing_at}`;
  const said = {
    not_configured: 'not configured',
    no_keys: 'its keys are not set',
    untried: 'not asked yet',
    ok: `ok, reached at ${reached_at}`,
    refused: `refuses the keys${since}: ${error?.message}`,
    failing: `does not work${since}: ${error?.message}`,
  }[state];
  const { pending, reports_under_way: underWay, reports_uncertain: uncertain } = reports;
  const left = [
    [pending, 'not reported yet'],
    [underWay, 'reports not answered yet'],
    [uncertain, 'reports uncertain'],
  ] as const;
  return [said, ...left.flatMap(([count, what]) => (count === 0 ? [] : `${count} ${what}`))].join('; ');
}

/** Only those that do not work: "notify list" has all of them. */
function sayChannels({ channels }: Status): Readonly<Record<string, string>> {
  if (channels.length === 0) return {};
  const failing = channels.filter(({ state }) => state === 'failing');
  if (failing.length === 0) return { channels: `${channels.length}, none fails` };
  return { channels: failing.map((channel) => `${channel.name} ${sayState(channel)}`).join('; ') };
}

function sayDelivery({
  state,
  delivered_at,
  failing_at,
  error,
  waiting,
  dropped,
}: Status['webhooks']): string {
  const said = {
    off: 'not configured',
    no_secret: `nothing is sent: ${error}`,
    untried: 'nothing sent yet',
    ok: `ok, last event delivered at ${delivered_at}`,
    failing: `not delivered since ${failing_at}: ${error}; ${waiting} events wait`,
  }[state];
  return dropped === 0 ? said : `${said}; ${dropped} events were dropped`;
}

function sayBackup({ last_at, due_at, failing_at, error }: Status['backup']): string {
  const last = last_at === null ? 'none was made yet' : `the last was made at ${last_at}`;
  const next = due_at === null ? '' : `, the next is due at ${due_at}`;
  if (failing_at === null) return last + next;
  return `failing since ${failing_at}${error === null ? '' : `: ${error}`}; ${last}`;
}

function sayCertificate({ subject, valid_until, error }: NonNullable<Status['tls']>): string {
  const unused = error === null ? '' : `; new files are not used: ${error}`;
  return `${subject}, valid until ${valid_until}${unused}`;
}

function isInStep({ jump, jump_at_start: rest }: Clock): boolean {
  return jump === null && rest === null;
}

function sayClock(clock: Clock | null): string {
  if (clock === null) return 'cannot be read because the store does not work';
  return isInStep(clock) ? 'agrees with the wall clock' : paint('yellow', 'see below');
}

export function showClock({ server_at, wall_at, jump, jump_at_start: rest }: Clock, callOf: CallOf): string {
  const jumped = jump === null ? '' : `JUMPED ${jump.direction}, noticed at ${jump.seen_at}`;
  const state = jumped === '' ? 'agrees' : paint('yellow', jumped);
  const facts = formatFacts({ 'server time': server_at, 'wall clock': wall_at, clock: state });
  const advised = jump === null ? facts : `${facts}\n${adviseOnJump(jump.direction, callOf)}`;
  if (rest === null) return advised;
  const hint = `if the clock was wrong, correct it and run "${callOf('clock reset')}"`;
  return `${advised}\nIt JUMPED AHEAD from ${rest.from} to ${rest.to} while the server was stopped; ${hint}.`;
}

function adviseOnJump(direction: string, callOf: CallOf): string {
  return direction === 'ahead'
    ? `If the wall clock is correct, run "${callOf('clock accept')}".`
    : `If the clock was wrong before and is correct now, run "${callOf('clock reset')}".`;
}
