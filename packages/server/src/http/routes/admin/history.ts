import { HISTORY_API } from '@berth/protocol/admin/history';
import { type HistoryReport, historyTable } from '@berth/protocol/api/history-tables';
import { formatCsv } from '@berth/protocol/csv';
import { formatTimestamp } from '@berth/protocol/timestamp';
import type { RequestHead } from '@berth/web/http-request';
import { csvReply, type Reply } from '@berth/web/reply';
import type { Instant } from '../../../core/nouns/instant.ts';
import { licenseId } from '../../../core/nouns/license.ts';
import type { History } from '../../../services/history/history.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';

const REPORT = { access: 'viewer', isForProducts: true, csvToo: true } as const;

export function historyRoutes(history: History): readonly Route[] {
  return adminRoutes(HISTORY_API, {
    'GET /api/admin/history/slots': {
      name: 'admin_history_slots',
      ...REPORT,
      summary: 'Slots over time, of one license and its features or of all licenses',
      handle: async ({ query, request }, send) => {
        const { since, until, ...report } = await history.listSlots(wishOf(query));
        return reportReply(request, 'slots', { ...sayTimes(since, until), ...toWire(report) }, send);
      },
    },
    'GET /api/admin/history/denials': {
      name: 'admin_history_denials',
      ...REPORT,
      summary: 'Who was denied, when and why',
      handle: async ({ query, request }, send) =>
        reportReply(request, 'denials', toWire(await history.listDenials(wishOf(query))), send),
    },
    'GET /api/admin/history/users': {
      name: 'admin_history_users',
      ...REPORT,
      summary: 'How much each user used, the longest first; by whole days',
      handle: async ({ query, request }, send) => {
        const { users, leftOff } = await history.listUsers(wishOf(query));
        const presented = users.map(({ day, ...rest }) => ({ ...toWire(rest), day: day && sayDay(day) }));
        const answer = { users: presented, left_off: leftOff };
        return reportReply(request, query.by === 'day' ? 'user-days' : 'users', answer, send);
      },
    },
    'GET /api/admin/history/consumption': {
      name: 'admin_history_consumption',
      ...REPORT,
      summary: 'What was consumed on each day, newest first',
      handle: async ({ query, request }, send) => {
        const days = await history.listConsumption(wishOf(query));
        const presented = days.map(({ day, ...rest }) => ({ day: sayDay(day), ...toWire(rest) }));
        return reportReply(request, 'consumption', { days: presented }, send);
      },
    },
    'GET /api/admin/history/waits': {
      name: 'admin_history_waits',
      ...REPORT,
      summary: 'How long users waited in line',
      handle: async ({ query, request }, send) =>
        reportReply(request, 'waits', toWire({ waits: await history.listWaits(wishOf(query)) }), send),
    },
    'GET /api/admin/history/what-if': {
      name: 'admin_history_what_if',
      ...REPORT,
      summary: 'How many requests would have been denied with more or fewer slots',
      isLong: true,
      errors: ['missing_parameters', 'license_not_found', 'too_many_requests'],
      handle: async ({ query, request }, send) =>
        reportReply(request, 'what-if', toWire(await history.askWhatIf(wishOf(query), request.signal)), send),
    },
    'POST /api/admin/history/forget': {
      name: 'admin_history_forget',
      access: 'admin',
      summary: "Remove a user's name, hosts and addresses from the history; totals stay",
      handle: async ({ body, caller }, send) =>
        send({ forgotten: await history.forget(body.user, caller.actor) }),
    },
  });
}

function sayTimes(since: Instant, until: Instant) {
  return { since: formatTimestamp(since), until: formatTimestamp(until) };
}

function sayDay(day: Instant): string {
  return formatTimestamp(day).slice(0, 10);
}

/** The span of a wish, in the names of the service. */
function wishOf({ license, ...rest }: { readonly license?: number | undefined }) {
  return { ...rest, licenseId: license === undefined ? null : licenseId(license) };
}

/** The answer as JSON, or as CSV for callers that only accept that. */
function reportReply<A extends object>(
  request: RequestHead,
  report: HistoryReport,
  answer: A,
  send: (answer: A) => Reply,
): Reply {
  const accept = request.headers.get('accept') ?? '';
  if (!/\btext\/csv\b/i.test(accept) || /\bapplication\/json\b/i.test(accept)) return send(answer);
  const { columns, rows } = historyTable(report, answer);
  return csvReply(formatCsv(columns, rows), `berth-${report}.csv`);
}
