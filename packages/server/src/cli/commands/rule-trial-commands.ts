import type { GetAnswer, PostAnswer } from '@berth/protocol/admin/admin-api';
import { MOMENT_FORMS } from '@berth/protocol/moment';
import { formatTable } from '@berth/shell/console/console-text';
import { type AdminAnswer, type AdminClient, withFacts } from '../admin-client.ts';
import { type Command, defineCommand, type Flags } from '../command.ts';
import { suggestUsers } from '../near-users.ts';
import { InputError } from '../read-secrets.ts';
import { showBarring } from './bar-commands.ts';
import { readInput } from './offline-commands.ts';

/** What rules would have done, and what those in force would do now. */
export const RULE_TRIAL_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'rules try',
    arguments: ['FILE'],
    usage: '[--since TIME]',
    about: `show what the rules of a file would have answered in the last 30 days; TIME is ${MOMENT_FORMS}`,
    ask: (client, [file = ''], { since }) =>
      client.post('/api/admin/rules/try', { text: readInput(file), since }),
    show: showTried,
  }),
  defineCommand({
    words: 'rules why',
    arguments: ['[USER]'],
    usage: '[--product P] [--feature F] [--host HOST] [--address ADDRESS]',
    about: 'show what a user would be answered now, which rule decides, and what bars them',
    ask: askWhy,
    show: showWhy,
  }),
];

type Tried = PostAnswer<'/api/admin/rules/try'>;

/** Rows of a table; --json has all of them. */
const MOST_ROWS = 20;

function showTried(tried: Tried): string {
  const parts = [
    sayTried(tried),
    tableOf(
      ['line', 'product', 'rule', 'would refuse', 'kept free and unused'],
      tried.rules.map((rule) => [
        rule.line,
        nameOf(rule),
        rule.text,
        rule.would_refuse,
        rule.unused_share === null ? null : `${Math.round(rule.unused_share * 100)} %`,
      ]),
    ),
    tableOf(
      ['group', 'requests', 'refused', 'would be', 'newly refused', 'newly served'],
      tried.groups.map((one) => [
        one.group === '' ? '(none)' : one.group,
        one.requests,
        one.refused,
        one.would_refuse,
        one.newly_refused,
        one.newly_served,
      ]),
    ),
    tableOf(
      ['hour', 'newly refused', 'newly served'],
      tried.hours
        .toReversed()
        .map(({ at, newly_refused, newly_served }) => [at, newly_refused, newly_served]),
    ),
    tableOf(
      ['user', 'newly refused', 'newly served'],
      tried.users.map(({ user, newly_refused, newly_served }) => [user, newly_refused, newly_served]),
    ),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function nameOf({ product, feature }: { readonly product: string; readonly feature: string | null }): string {
  return feature === null ? product : `${product}, ${feature}`;
}

function tableOf(heading: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  if (rows.length === 0) return '';
  const table = formatTable(heading, rows.slice(0, MOST_ROWS));
  const more = rows.length - MOST_ROWS;
  return more > 0 ? `${table}\n${more} more rows: use --json.` : table;
}

/** The whole in two or three sentences. */
function sayTried(tried: Tried): string {
  const { since, until, requests, newly_refused: refused, newly_served: served } = tried;
  if (requests === 0) return `Nobody has asked for a slot since ${since}.`;
  const asked = `${count(requests, 'request')} from ${since} to ${until}`;
  if (refused === 0 && served === 0) {
    return `These rules would have answered all ${asked} as they were answered.`;
  }
  const lost =
    refused === 0
      ? `Of ${asked}, none that was served would have been refused.`
      : `Of ${asked}, ${say(refused)} served and would have been refused${sayBy(tried)}.`;
  return served === 0 ? lost : `${lost} ${capital(say(served))} refused and would have been served.`;
}

/** The only rule that refuses what was served, if there is only one. */
function sayBy({ changes, left_out: leftOut }: Tried): string {
  const refusing = changes.filter(({ would }) => would === 'refused');
  const rules = new Set(refusing.map(({ rule }) => rule));
  const [only] = rules;
  if (rules.size !== 1 || leftOut > 0) return '';
  if (only == null) return ', because all slots would have been in use';
  const { line } = refusing[0] ?? { line: null };
  return `, ${refusing.length > 1 ? 'all ' : ''}by "${only}"${line === null ? '' : ` (line ${line})`}`;
}

function say(times: number): string {
  return times === 1 ? '1 was' : `${times.toLocaleString('en-US')} were`;
}

function capital(text: string): string {
  return text.replace(/^./, (letter) => letter.toUpperCase());
}

function count(times: number, what: string): string {
  return times === 1 ? `1 ${what}` : `${times.toLocaleString('en-US')} ${what}s`;
}

type Why = GetAnswer<'/api/admin/rules/why'> & {
  readonly user?: string;
  readonly verdict?: GetAnswer<'/api/admin/rules/explain'>;
  readonly hint?: string;
};

async function askWhy(
  client: AdminClient,
  [user]: readonly string[],
  { product, feature, host, address }: Flags,
): Promise<AdminAnswer<Why>> {
  if (user === undefined && host === undefined && address === undefined) {
    throw new InputError('Name a USER, or give --host or --address.');
  }
  const barred = await client.get('/api/admin/rules/why', { user, host, address });
  if (!barred.ok || user === undefined) return barred;
  const verdict = await client.get('/api/admin/rules/explain', { user, product, feature, host, address });
  const hint = [verdict.ok ? '' : verdict.body.message, await suggestUsers(client, user)].join(' ').trim();
  return withFacts(barred, {
    user,
    ...(verdict.ok ? { verdict: verdict.body } : {}),
    ...(hint === '' ? {} : { hint }),
  });
}

function showWhy({ barred_by: by, user = '', verdict, hint = '' }: Why): string {
  const parts = [
    verdict === undefined ? '' : showVerdict(user, verdict),
    by.length > 0 ? showBarring(by) : verdict === undefined ? 'Nothing bars them.' : '',
    hint,
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function showVerdict(user: string, verdict: NonNullable<Why['verdict']>): string {
  const { answer, message, rule, line, note, groups } = verdict;
  const answered = answer === 'served' ? message : `"${user}" would be refused: ${message}`;
  const decides = rule === null ? '' : `Decided by ${line === null ? '' : `line ${line}, `}"${rule}".`;
  const members =
    groups.length === 0
      ? ''
      : `\n${formatTable(
          ['group', 'because of'],
          groups.map((one) => [one.group, one.by]),
        )}`;
  return [answered, decides, note ?? '', members].filter((part) => part !== '').join('\n');
}
