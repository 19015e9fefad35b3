import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import { type HistoryReport, historyTable } from '@berth/protocol/api/history-tables';
import { formatCsv } from '@berth/protocol/csv';
import { escapeLines } from '@berth/protocol/hidden-characters';
import { MOMENT_FORMS } from '@berth/protocol/moment';
import { formatTable } from '@berth/shell/console/console-text';
import type { CallOf } from '@berth/shell/console/hints';
import { sayLength } from '../../core/doctor/judge-machine.ts';
import type { AdminAnswer, AdminClient } from '../admin-client.ts';
import { LICENSE_SYNONYM, LICENSE_USAGE, licenseOf } from '../choose-license.ts';
import { type Command, defineCommand, type Flags } from '../command.ts';
import { nobody, suggestUsers } from '../near-users.ts';
import { printText } from '../terminal.ts';

const SPAN = `[--since TIME] [--until TIME] ${LICENSE_USAGE}`;

/** Reports on the history of use. */
export const HISTORY_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'usage slots',
    otherFlags: LICENSE_SYNONYM,
    usage: `${SPAN} [--feature F] [--csv]`,
    about: `show how many slots were in use; TIME is ${MOMENT_FORMS} (UTC)`,
    ask: askReport('slots', (client, { feature }, span) =>
      client.get('/api/admin/history/slots', { ...span, feature }),
    ),
    show: showSlots,
  }),
  defineCommand({
    words: 'usage denials',
    otherFlags: LICENSE_SYNONYM,
    usage: `${SPAN} [--feature F] [--user U] [--reason CODE] [--limit N] [--csv]`,
    about: 'show who was denied, when and why; a part of the name of a user is enough',
    ask: askReport('denials', (client, { feature, user, reason, limit }, span) =>
      client.get('/api/admin/history/denials', { ...span, feature, search: user, reason, limit }),
    ),
    show: showDenials,
  }),
  defineCommand({
    words: 'usage users',
    otherFlags: LICENSE_SYNONYM,
    usage: `${SPAN} [--user U] [--limit N] [--csv]`,
    about: 'show how much each user used, the longest first',
    ask: askReport('users', (client, { user, limit }, span) =>
      client.get('/api/admin/history/users', { ...span, search: user, limit }),
    ),
    show: showUsers,
  }),
  defineCommand({
    words: 'usage consumption',
    otherFlags: LICENSE_SYNONYM,
    usage: `${SPAN} [--feature F] [--csv]`,
    about: 'show what was consumed on each day',
    ask: askReport('consumption', (client, { feature }, span) =>
      client.get('/api/admin/history/consumption', { ...span, feature }),
    ),
    show: showConsumption,
  }),
  defineCommand({
    words: 'usage waits',
    otherFlags: LICENSE_SYNONYM,
    usage: `${SPAN} [--feature F] [--csv]`,
    about: 'show how long users waited in the line, and how many gave up',
    ask: askReport('waits', (client, { feature }, span) =>
      client.get('/api/admin/history/waits', { ...span, feature }),
    ),
    show: showWaits,
  }),
  defineCommand({
    words: 'usage what-if',
    otherFlags: LICENSE_SYNONYM,
    usage: `${SPAN} [--feature F] [--csv]`,
    about: 'show how many requests would have been denied with more or fewer slots',
    ask: askReport('what-if', (client, { feature }, span) =>
      client.get('/api/admin/history/what-if', { ...span, feature }),
    ),
    show: showWhatIf,
  }),
  defineCommand({
    words: 'user forget',
    arguments: ['NAME'],
    about: "remove a user's name, hosts and addresses from the history; totals stay",
    ask: askForget,
    show: ({ forgotten }) =>
      forgotten === 0
        ? 'The history does not name this user.'
        : `Removed the name from ${forgotten} record${forgotten === 1 ? '' : 's'} of the history.`,
  }),
];

type Span = Readonly<Record<'since' | 'until' | 'license', string | number | undefined>>;

function askReport<Report extends object>(
  report: HistoryReport,
  ask: (client: AdminClient, flags: Flags, span: Span) => Promise<AdminAnswer<Report>>,
) {
  return async (client: AdminClient, _: readonly string[], flags: Flags): Promise<AdminAnswer<Report>> => {
    const { since, until, csv } = flags;
    const answer = await ask(client, flags, { since, until, license: await licenseOf(client, flags) });
    if (!answer.ok || !csv) return answer;
    const { columns, rows } = historyTable(report, answer.body);
    const text = formatCsv(columns, rows);
    await printText(process.stdout.isTTY ? escapeLines(text) : text);
    return { ...answer, isPrinted: true };
  };
}

async function askForget(client: AdminClient, [user = '']: readonly string[]) {
  const answer = await client.post('/api/admin/history/forget', { user });
  const near = answer.ok && answer.body.forgotten === 0 ? await suggestUsers(client, user) : '';
  return near === '' ? answer : ({ ok: false, body: { message: near } } as const);
}

type Denials = GetAnswer<'/api/admin/history/denials'>;
type Denial = Denials['denials'][number];

function nameOf({ user, others }: Pick<Denial, 'user' | 'others'>): string {
  if (others) return '(others)';
  return user ?? '(nobody named)';
}

function showSlots({ since, until, series }: GetAnswer<'/api/admin/history/slots'>): string {
  if (series.length === 0) return 'There is no license to report on.';
  const rows = series.map(({ license_id, product, feature, slots, totals, points }) => [
    license_id,
    product,
    feature,
    slots,
    points.at(-1)?.in_use,
    points.at(-1)?.borrowed,
    totals.peak,
    totals.average.toFixed(2),
    totals.grants,
    totals.returns,
    totals.denials,
  ]);
  const heading = ['license', 'product', 'feature', 'slots', 'in use', 'borrowed', 'peak', 'average'];
  const table = formatTable([...heading, 'grants', 'returns', 'denials'], rows);
  return `From ${since} to ${until}; --csv has all points.\n${table}`;
}

function showDenials(
  { total, by_reason, by_rule, denials, left_off }: Denials,
  _: CallOf,
  { user }: Flags,
): string {
  if (total === 0) return `${nobody(user)} was denied.`;
  const reasons = by_reason.map(({ reason, count }) => `${count} ${reason}`).join(', ');
  const lines = denials.map((denial) => {
    const { first_at, last_at, count, explanation } = denial;
    const times = count === 1 ? '' : ` (${count} times until ${last_at})`;
    return `${first_at}  ${nameOf(denial)}${whereOf(denial)}${times}\n  ${explanation}`;
  });
  const more = left_off === 0 ? [] : [`${left_off} more records: use --limit, or a shorter time.`];
  const requests = total === 1 ? '1 request was' : `${total} requests were`;
  const rules = by_rule.map(({ rule, count }) => `${count} by the rule "${rule}".`);
  return [`${requests} denied: ${reasons}.`, ...rules, ...lines, ...more].join('\n');
}

function whereOf({ host, address }: Denial): string {
  return `${host === null ? '' : ` on ${host}`}${address === null ? '' : ` from ${address}`}`;
}

function showUsers(
  { users, left_off }: GetAnswer<'/api/admin/history/users'>,
  _: CallOf,
  { user }: Flags,
): string {
  if (users.length === 0) return `${nobody(user)} used anything.`;
  const rows = users.map((row) => [
    nameOf(row),
    row.license_id,
    row.product,
    row.feature,
    row.grants,
    row.denials,
    sayHours(row.held_ms),
    row.last_at,
  ]);
  const heading = ['user', 'license', 'product', 'feature', 'grants', 'denials', 'held', 'last'];
  const more = left_off === 0 ? '' : `\n${left_off} more rows: use --limit.`;
  return formatTable(heading, rows) + more;
}

/** As hours and minutes. */
function sayHours(millis: number): string {
  const minutes = Math.round(millis / 60_000);
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')} h`;
}

function showConsumption({ days }: GetAnswer<'/api/admin/history/consumption'>): string {
  if (days.length === 0) return 'Nothing was consumed.';
  const rows = days.map(({ day, license_id, product, feature, amount }) => [
    day,
    license_id,
    product,
    feature,
    amount,
  ]);
  return formatTable(['day', 'license', 'product', 'feature', 'amount'], rows);
}

function showWaits({ waits }: GetAnswer<'/api/admin/history/waits'>): string {
  if (waits.length === 0) return 'Nobody waited in line.';
  const rows = waits.map((one) => [
    one.license_id,
    one.product,
    one.feature,
    one.served,
    sayWait(one.median_ms),
    sayWait(one.p90_ms),
    sayWait(one.longest_ms),
    one.unserved,
    sayWait(one.unserved_median_ms),
  ]);
  const heading = ['license', 'product', 'feature', 'got a slot', 'median', '90 %', 'longest'];
  return formatTable([...heading, 'gave up', 'after'], rows);
}

function sayWait(ms: number | null): string | null {
  return ms === null ? null : sayLength(ms);
}

/** Those who got a slot in the end were not denied, so the curve does not count them. */
function sayWaits({
  served,
  median_ms,
  longest_ms,
}: GetAnswer<'/api/admin/history/what-if'>['waits']): string {
  if (median_ms === null || longest_ms === null) return '';
  const users = served === 1 ? '1 user' : `${served} users`;
  const length = `half within ${sayLength(median_ms)}, all within ${sayLength(longest_ms)}`;
  return `${users} waited in line and got a slot, ${length}; this counts as served.\n`;
}

function showWhatIf(report: GetAnswer<'/api/admin/history/what-if'>): string {
  const { product, feature, slots, median_ms, asked, enough, curve, waits } = report;
  const name = feature === null ? `"${product}"` : `"${feature}" of "${product}"`;
  const held =
    median_ms === null
      ? 'No slot was given back yet, so each request counts for a minute.'
      : `Half of the slots were held for ${sayHours(median_ms)} or less.`;
  const asking = asked === 1 ? '1 request' : `${asked} requests`;
  const rows = curve.map((point) => [
    point.slots,
    point.denials,
    sayHours(point.waiting_ms),
    point.slots === slots ? 'now' : '',
  ]);
  return (
    `${asking} found no free slot of ${name}, not counting retries. ${held}\n` +
    sayWaits(waits) +
    `With ${enough} slot${enough === 1 ? '' : 's'} nobody would have been denied.\n` +
    formatTable(['slots', 'denials', 'waiting', ''], rows)
  );
}
