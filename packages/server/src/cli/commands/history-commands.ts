import { type HistoryReport, historyTable } from '@berth/protocol/api/history-tables';
import { formatTable } from '@berth/protocol/console/console-text';
import { formatCsv } from '@berth/protocol/csv';
import { escapeLines } from '@berth/protocol/hidden-characters';
import { MOMENT_FORMS } from '@berth/protocol/moment';
import type { AdminAnswer, AdminClient } from '../admin-client.ts';
import type { Command, Flags } from '../command.ts';
import { printText } from '../terminal.ts';

const SPAN = '[--since TIME] [--until TIME]';

/** Reports on the history of use. */
export const HISTORY_COMMANDS: readonly Command[] = [
  {
    words: 'usage slots',
    usage: `${SPAN} [--license N] [--feature F] [--csv]`,
    about: `show how many slots were in use; TIME is ${MOMENT_FORMS} (UTC)`,
    ask: askReport('slots', ({ feature }) => ({ feature })),
    show: showSlots,
  },
  {
    words: 'usage denials',
    usage: `${SPAN} [--license N] [--feature F] [--user U] [--reason CODE] [--limit N] [--csv]`,
    about: 'show who was denied, when and why',
    ask: askReport('denials', ({ feature, user, reason, limit }) => ({ feature, user, reason, limit })),
    show: showDenials,
  },
  {
    words: 'usage users',
    usage: `${SPAN} [--license N] [--user U] [--limit N] [--csv]`,
    about: 'show how much each user used, the longest first',
    ask: askReport('users', ({ user, limit }) => ({ user, limit })),
    show: showUsers,
  },
  {
    words: 'usage consumption',
    usage: `${SPAN} [--license N] [--feature F] [--csv]`,
    about: 'show what was consumed on each day',
    ask: askReport('consumption', ({ feature }) => ({ feature })),
    show: showConsumption,
  },
  {
    words: 'usage what-if',
    usage: `${SPAN} [--license N] [--feature F] [--csv]`,
    about: 'show how many requests would have been denied with more or fewer slots',
    ask: askReport('what-if', ({ feature }) => ({ feature })),
    show: showWhatIf,
  },
  {
    words: 'user forget',
    arguments: ['NAME'],
    about: "remove a user's name, hosts and addresses from the history; totals stay",
    ask: (client, [user]) => client.post('/api/admin/history/forget', { user }),
    show: ({ forgotten }: { forgotten: number }) =>
      forgotten === 0
        ? 'The history does not name this user.'
        : `Removed the name from ${forgotten} record${forgotten === 1 ? '' : 's'} of the history.`,
  },
];

type Query = Readonly<Record<string, string | undefined>>;

function askReport(report: HistoryReport, more: (flags: Flags) => Query) {
  return async (client: AdminClient, _: readonly string[], flags: Flags): Promise<AdminAnswer> => {
    const { since, until, license, csv } = flags;
    const answer = await client.get(`/api/admin/history/${report}`, {
      since,
      until,
      license,
      ...more(flags),
    });
    if (!answer.ok || !csv) return answer;
    const { columns, rows } = historyTable(report, answer.body);
    const text = formatCsv(columns, rows);
    await printText(process.stdout.isTTY ? escapeLines(text) : text);
    return { ...answer, isPrinted: true };
  };
}

interface Subject {
  readonly license_id: number;
  readonly product: string;
  readonly feature: string | null;
}

interface Somebody {
  readonly user: string | null;
  readonly others: boolean;
}

function nameOf({ user, others }: Somebody): string {
  if (others) return '(others)';
  return user ?? '(nobody named)';
}

interface SlotReport {
  readonly since: string;
  readonly until: string;
  readonly series: readonly (Subject & {
    readonly slots: number;
    readonly totals: {
      readonly average: number;
      readonly peak: number;
      readonly grants: number;
      readonly returns: number;
      readonly denials: number;
    };
    readonly points: readonly { readonly in_use: number; readonly borrowed: number }[];
  })[];
}

function showSlots({ since, until, series }: SlotReport): string {
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

interface DenialReport {
  readonly total: number;
  readonly by_reason: readonly { readonly reason: string; readonly count: number }[];
  readonly denials: readonly (Somebody & {
    readonly first_at: string;
    readonly last_at: string;
    readonly host: string | null;
    readonly address: string | null;
    readonly count: number;
    readonly explanation: string;
  })[];
  readonly left_off: number;
}

function showDenials({ total, by_reason, denials, left_off }: DenialReport): string {
  if (total === 0) return 'Nobody was denied.';
  const reasons = by_reason.map(({ reason, count }) => `${count} ${reason}`).join(', ');
  const lines = denials.map((denial) => {
    const { first_at, last_at, count, explanation } = denial;
    const times = count === 1 ? '' : ` (${count} times until ${last_at})`;
    return `${first_at}  ${nameOf(denial)}${whereOf(denial)}${times}\n  ${explanation}`;
  });
  const more = left_off === 0 ? [] : [`${left_off} more records: use --limit, or a shorter time.`];
  const requests = total === 1 ? '1 request was' : `${total} requests were`;
  return [`${requests} denied: ${reasons}.`, ...lines, ...more].join('\n');
}

function whereOf({ host, address }: Pick<DenialReport['denials'][number], 'host' | 'address'>): string {
  return `${host === null ? '' : ` on ${host}`}${address === null ? '' : ` from ${address}`}`;
}

interface UserReport {
  readonly users: readonly (Subject &
    Somebody & {
      readonly grants: number;
      readonly denials: number;
      readonly held_ms: number;
      readonly last_at: string;
    })[];
  readonly left_off: number;
}

function showUsers({ users, left_off }: UserReport): string {
  if (users.length === 0) return 'Nobody used anything.';
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

function showConsumption({ days }: { days: readonly (Subject & { day: string; amount: number })[] }): string {
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

interface WhatIfReport extends Subject {
  readonly slots: number;
  readonly median_ms: number | null;
  readonly asked: number;
  readonly curve: readonly {
    readonly slots: number;
    readonly denials: number;
    readonly waiting_ms: number;
  }[];
}

function showWhatIf({ product, feature, slots, median_ms, asked, curve }: WhatIfReport): string {
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
    formatTable(['slots', 'denials', 'waiting', ''], rows)
  );
}
