import type { GetAnswer, PostAnswer } from '@berth/protocol/admin/admin-api';
import { formatTable } from '@berth/shell/console/console-text';
import type { CallOf } from '@berth/shell/console/hints';
import { withFacts } from '../admin-client.ts';
import { type Command, defineCommand, type Flags } from '../command.ts';
import { InputError } from '../read-secrets.ts';

/** Bars users, hosts and addresses besides the rules file. */
export const BAR_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'bar',
    arguments: ['[USER]'],
    usage: '[--host HOST | --address ADDRESS|RANGE] [--note TEXT]',
    about: 'bar a user, a host or an address from all licenses; * in a name stands for any characters',
    ask: async (client, [user], flags) => {
      const bar = readBar(user, flags);
      return withFacts(await client.post('/api/admin/bars', { ...bar, note: flags.note }), bar);
    },
    show: showBarred,
  }),
  defineCommand({
    words: 'bar list',
    about: 'list who is barred by "bar"; "rules show" shows the rules',
    ask: (client) => client.get('/api/admin/bars'),
    show: ({ bars }) => (bars.length === 0 ? 'Nobody is barred by a command.' : showBars(bars)),
  }),
  defineCommand({
    words: 'unbar',
    arguments: ['[USER]'],
    usage: '[--host HOST | --address ADDRESS|RANGE]',
    about: 'lift a bar, named as it was set',
    ask: async (client, [user], flags) => {
      const bar = readBar(user, flags);
      return withFacts(await client.post('/api/admin/bars/remove', bar), bar);
    },
    show: showLifted,
  }),
];

type ShownBar = GetAnswer<'/api/admin/bars'>['bars'][number];
type NamedBar = Pick<ShownBar, 'kind' | 'pattern'>;
type Barring = PostAnswer<'/api/admin/bars/remove'>['still_barred_by'][number];

function readBar(user: string | undefined, { host, address }: Flags): NamedBar {
  const bars = Object.entries({ user, host, address }).filter(([, pattern]) => pattern !== undefined);
  const [first] = bars;
  if (first === undefined) throw new InputError('Name a USER, or give --host or --address.');
  if (bars.length > 1) throw new InputError('Name one USER, one --host or one --address at a time.');
  return { kind: first[0], pattern: first[1] } as NamedBar;
}

function nameBar({ kind, pattern }: NamedBar): string {
  return `The ${kind} "${pattern}"`;
}

function showBarred({ added, ...bar }: NamedBar & PostAnswer<'/api/admin/bars'>, callOf: CallOf): string {
  if (added === 0) return `${nameBar(bar)} is barred already.`;
  const release = bar.kind === 'address' ? `--address ${bar.pattern}` : 'USER';
  return (
    `${nameBar(bar)} is barred from now on. Slots in use stay until they end; ` +
    `"${callOf(`registration release ${release}`)}" frees them at once.`
  );
}

type Lifted = NamedBar & PostAnswer<'/api/admin/bars/remove'>;

function showLifted({ removed, still_barred_by: still, ...bar }: Lifted): string {
  const lifted = removed === 0 ? 'was not barred by a command' : 'is no longer barred by a command';
  if (still.length === 0) return `${nameBar(bar)} ${lifted}.`;
  return `${nameBar(bar)} ${lifted}, but still refused by:\n\n${showBarring(still)}`;
}

export function showBarring(barring: readonly Barring[]): string {
  const rows = barring.map(({ source, kind, pattern, note }) => [
    kind,
    pattern,
    source === 'bar' ? 'bar' : 'rules',
    note,
  ]);
  return formatTable(['barred', 'which', 'by', 'note'], rows);
}

function showBars(bars: readonly ShownBar[]): string {
  const rows = bars.map(({ kind, pattern, by, at, note }) => [kind, pattern, by, at, note]);
  return formatTable(['barred', 'which', 'by', 'since', 'note'], rows);
}
