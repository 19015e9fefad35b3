import type { GetAnswer, PostBody } from '@berth/protocol/admin/admin-api';
import { CHANNEL_KINDS, DIGESTS, MAIL_SECURITIES } from '@berth/protocol/admin/choices';
import { suggest } from '@berth/protocol/suggest';
import { formatTable } from '@berth/shell/console/console-text';
import type { CallOf } from '@berth/shell/console/hints';
import { type AdminClient, withFacts } from '../admin-client.ts';
import { type Command, defineCommand, type Flags } from '../command.ts';
import { readBytes } from '../files.ts';
import { InputError, type SecretPrompt } from '../read-secrets.ts';

const WHEN =
  '[--topics T,…] [--gap MINUTES] [--quiet HH:MM-HH:MM|off] [--weekends on|off] [--zone ZONE] ' +
  `[--digest ${DIGESTS.join('|')}]`;

const MAIL = `[--to A,… --from A --server HOST:PORT --security ${MAIL_SECURITIES.join('|')} --user U|none]`;

/** Messages to administrators by mail and chat. */
export const NOTIFY_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'notify list',
    about: 'list the channels for messages to administrators, and whether messages arrive',
    ask: (client) => client.get('/api/admin/channels'),
    show: showChannels,
  }),
  defineCommand({
    words: 'notify add',
    arguments: ['NAME'],
    usage: `--kind ${CHANNEL_KINDS.join('|')} ${MAIL} [--file TEMPLATE] ${WHEN}`,
    about:
      'add a channel, or replace where it sends to; standard input provides the password of --user, or the ' +
      'address of the webhook and, in a second line, its header Authorization, if any',
    reads: askSecrets,
    ask: (client, [name = ''], flags, lines) => put(client, name, readTarget(flags, lines), flags),
    show: showPut,
  }),
  defineCommand({
    words: 'notify set',
    arguments: ['NAME'],
    usage: WHEN,
    about: 'change what a channel is told, and when',
    precheck: (client, [name = '']) => refuseUnknown(client, name),
    ask: (client, [name = ''], flags) => put(client, name, {}, flags),
    show: showPut,
  }),
  ...(['pause', 'resume'] as const).map((verb) =>
    defineCommand({
      words: `notify ${verb}`,
      arguments: ['NAME'],
      about: verb === 'pause' ? 'send nothing to a channel' : 'send new messages to a paused channel again',
      precheck: (client: AdminClient, [name = '']: readonly string[]) => refuseUnknown(client, name),
      ask: (client: AdminClient, [name = '']: readonly string[], flags: Flags) =>
        put(client, name, { paused: verb === 'pause' }, flags),
      show: showPut,
    }),
  ),
  defineCommand({
    words: 'notify test',
    arguments: ['NAME'],
    about: 'send a test message to a channel, and show what became of it',
    ask: (client, [name = '']) => client.post('/api/admin/channels/test', { name }),
    show: ({ status, duration_ms, error }) => error ?? `Delivered: status ${status} after ${duration_ms} ms.`,
    isFailure: ({ delivered }) => !delivered,
  }),
  defineCommand({
    words: 'notify remove',
    arguments: ['NAME'],
    about: 'remove a channel',
    ask: (client, [name = '']) => client.post('/api/admin/channels/remove', { name }),
    show: () => 'The channel is removed.',
  }),
];

type Wish = PostBody<'/api/admin/channels'>;
type Channel = GetAnswer<'/api/admin/channels'>['channels'][number];

async function put(client: AdminClient, name: string, wish: Wish, flags: Flags) {
  const known = await findChannel(client, name);
  const body: Wish = {
    name,
    ...wish,
    topics: splitList(flags.topics),
    gap_minutes: flags.gap,
    quiet: flags.quiet,
    quiet_weekends: readSwitch('weekends', flags.weekends),
    digest: choose('digest', flags.digest, DIGESTS),
    time_zone: flags.zone ?? (known === undefined ? ownZone() : undefined),
  };
  return withFacts(await client.post('/api/admin/channels', body), { name, isNew: known === undefined });
}

function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

async function findChannel(client: AdminClient, name: string): Promise<Channel | undefined> {
  const answer = await client.get('/api/admin/channels');
  return answer.ok ? answer.body.channels.find((channel) => channel.name === name) : undefined;
}

async function refuseUnknown(client: AdminClient, name: string) {
  const answer = await client.get('/api/admin/channels');
  if (!answer.ok) return answer;
  const names = answer.body.channels.map((channel) => channel.name);
  if (names.includes(name)) return null;
  const message = `There is no channel "${name}".${suggest(name, names)}`;
  return { ok: false, body: { status: 400, code: 'channel_not_found', message } } as const;
}

export function splitList(text: string | undefined): string[] | undefined {
  return text?.split(',').flatMap((word) => (word.trim() === '' ? [] : [word.trim()]));
}

function readSwitch(name: string, text: string | undefined): boolean | undefined {
  if (text === undefined || text === 'on' || text === 'off')
    return text === undefined ? undefined : text === 'on';
  throw new InputError(`--${name} must be on or off.`);
}

function choose<T extends string>(
  flag: string,
  text: string | undefined,
  choices: readonly T[],
): T | undefined {
  const found = choices.find((choice) => choice === text);
  if (text === undefined || found !== undefined) return found;
  throw new InputError(`--${flag} must be one of ${choices.join(', ')}.${suggest(text, choices)}`);
}

/** Checked before anyone types a secret. */
function requireKind({ kind = '' }: Flags): Channel['kind'] {
  return choose('kind', kind, CHANNEL_KINDS) as Channel['kind'];
}

function askSecrets(flags: Flags): readonly SecretPrompt[] {
  const kind = requireKind(flags);
  if (kind === 'mail') return flags.user === undefined || flags.user === 'none' ? [] : [{ text: 'password' }];
  const address = { text: 'address of the webhook' };
  return kind === 'webhook' ? [address, { text: 'header Authorization (may be empty)' }] : [address];
}

function readTarget(flags: Flags, [first, second]: readonly string[]): Wish {
  const kind = requireKind(flags);
  const { from, server, user } = flags;
  const security = choose('security', flags.security, MAIL_SECURITIES);
  if (kind === 'mail') {
    return { kind, to: splitList(flags.to), from, server, security, user, password: first };
  }
  const template = flags.file === undefined ? undefined : readBytes(flags.file).toString('utf8');
  return { kind, url: first, ...(kind === 'webhook' ? { authorization: second || 'none', template } : {}) };
}

function showPut(
  { name, isNew, changed }: { readonly name: string; readonly isNew: boolean; readonly changed: number },
  callOf: CallOf,
): string {
  if (changed === 0) return `The channel "${name}" stays as it is.`;
  if (!isNew) return `The channel "${name}" is changed.`;
  return `The channel "${name}" is added. See whether messages arrive: "${callOf(`notify test ${name}`)}".`;
}

function showChannels({ channels }: { readonly channels: readonly Channel[] }, callOf: CallOf): string {
  if (channels.length === 0) {
    const kinds = CHANNEL_KINDS.join(', ');
    const add = callOf('notify add NAME --kind KIND');
    return `No one gets messages. "${add}" adds a channel; kinds are ${kinds}.`;
  }
  const rows = channels.map((channel) => [
    channel.name,
    channel.kind,
    channel.to,
    channel.topics.length,
    channel.quiet === null
      ? 'no'
      : `${channel.quiet}${channel.quiet_weekends ? ', weekends' : ''} ${channel.time_zone}`,
    channel.digest === 'off' ? 'no' : channel.digest,
    sayState(channel),
  ]);
  return formatTable(['name', 'kind', 'to', 'topics', 'quiet', 'digest', 'state'], rows);
}

export function sayState({
  state,
  delivered_at,
  failing_at,
  error,
}: Pick<Channel, 'state' | 'delivered_at' | 'failing_at' | 'error'>): string {
  return {
    paused: 'paused',
    untried: 'nothing sent yet',
    ok: `ok, last message at ${delivered_at}`,
    failing: `failing since ${failing_at}: ${error}`,
  }[state];
}
