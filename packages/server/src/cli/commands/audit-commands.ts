import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import { escapeJsonText } from '@berth/protocol/hidden-characters';
import { MOMENT_FORMS } from '@berth/protocol/moment';
import { formatFacts, formatTable, paint } from '@berth/shell/console/console-text';
import { ExportCheck, type ExportVerdict } from '../../services/audit/check-export.ts';
import type { AdminAnswer, AdminClient } from '../admin-client.ts';
import { LICENSE_SYNONYM, LICENSE_USAGE, licenseOf, scopeOf } from '../choose-license.ts';
import { type Command, defineCommand, type Flags, type LocalContext } from '../command.ts';
import { cannot } from '../files.ts';
import { InputError } from '../read-secrets.ts';
import { formatInline, printText } from '../terminal.ts';

type Verdict = GetAnswer<'/api/admin/audit/verify'>;
type AuditEvent = GetAnswer<'/api/admin/audit'>['events'][number];

/** The audit log. */
export const AUDIT_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'audit list',
    usage: `[--since TIME] [--until TIME] [--user U] [--kind KIND] ${LICENSE_USAGE} [--system] [--limit N]`,
    otherFlags: LICENSE_SYNONYM,
    about:
      `list what happened, newest first; TIME is ${MOMENT_FORMS} (UTC), and --user a part of the name of a ` +
      'user, account or host',
    ask: askAudit,
    show: showAudit,
  }),
  defineCommand({
    words: 'audit verify',
    usage: '[--file FILE]',
    about: 'verify the audit log, or an export of it',
    isLocal: ({ file }) => file !== undefined,
    local: checkFile,
    ask: (client): Promise<AdminAnswer<Verdict | ExportFacts>> => client.get('/api/admin/audit/verify'),
    show: (verdict) => ('identity_key' in verdict ? showExport(verdict) : showVerdict(verdict)),
    isFailure: ({ ok }) => !ok,
  }),
  defineCommand({
    words: 'audit export',
    usage: '[--since TIME] [--until TIME] [--out FILE]',
    about: `export the signed audit log, or what was written within TIMEs, to be kept elsewhere`,
    ask: askExport,
    show: showExport,
    isFailure: ({ ok }) => !ok,
  }),
  defineCommand({
    words: 'audit thin',
    usage: `--before DATE ${LICENSE_USAGE} [--system]`,
    otherFlags: LICENSE_SYNONYM,
    about: 'replace older events with totals; a date without a time is the start of that day, UTC',
    ask: async (client, _, flags) =>
      client.post('/api/admin/audit/thin', {
        before: flags.before,
        license_id: await licenseOf(client, flags),
        chain: chainOf(flags),
      }),
    show: ({ thinned_links }) =>
      thinned_links === 0 ? 'There is nothing that old.' : `Replaced ${thinned_links} links with totals.`,
  }),
];

const DEFAULT_AUDIT_EVENTS = 100;

function chainOf(flags: Flags): 'system' | undefined {
  return flags.system ? 'system' : undefined;
}

/** Reads as many pages as needed. */
async function askAudit(client: AdminClient, _: readonly string[], flags: Flags) {
  const most = flags.limit === undefined ? DEFAULT_AUDIT_EVENTS : Number(flags.limit);
  const events: AuditEvent[] = [];
  let before: number | undefined;
  const { since, until, user, kind } = flags;
  const { product, license_id } = await scopeOf(client, flags);
  const scope = { license: license_id ?? product, chain: chainOf(flags) };
  const filter = { ...scope, since, until, search: user, kind, limit: most };
  for (;;) {
    const answer = await client.get('/api/admin/audit', { ...filter, before });
    if (!answer.ok) return answer;
    for (const event of answer.body.events) events.push(event);
    const { next_before } = answer.body;
    if (next_before === null || events.length >= most) {
      return { ok: true, body: { events: events.slice(0, most) } } as const;
    }
    before = next_before;
  }
}

function showAudit({ events }: { readonly events: readonly AuditEvent[] }): string {
  if (events.length === 0) return 'There are no such events.';
  const rows = events.map(({ seq, at, license_id, kind, ...facts }) => [
    at,
    license_id ?? 'system',
    kind,
    formatInline(facts),
  ]);
  return formatTable(['at', 'license', 'event', ''], rows);
}

function showVerdict({ ok, chains, links, events, thinned, problems }: Verdict): string {
  const older = thinned === 0 ? '' : ` ${thinned} older links were replaced with totals.`;
  if (ok) return `The audit log is intact: ${events} events in ${links} links of ${chains} chains.${older}`;
  const lines = problems.map(({ chain, n, problem }) => `  ${nameLink(chain, n)}: ${problem}`);
  return `${paint('red', 'The audit log is BROKEN:')}\n${lines.join('\n')}`;
}

function nameLink(chain: number | null, n: number): string {
  if (chain === null) return 'all chains';
  return `${chain === 0 ? 'system' : chain} link ${n}`;
}

type Dates = Readonly<Record<'since' | 'until', string | undefined>>;

interface ExportFacts
  extends Pick<ExportVerdict, 'ok' | 'chains' | 'links' | 'events' | 'thinned' | 'from' | 'to'> {
  readonly hardware_id: string | null;
  readonly exported_at: string | null;
  readonly identity_key: string | null;
  readonly problems: readonly string[];
  readonly saved_as?: string;
}

function presentExport(verdict: ExportVerdict): ExportFacts {
  const { hardwareId, exportedAt, identityKey, isIntact: _, ...rest } = verdict;
  return { ...rest, hardware_id: hardwareId, exported_at: exportedAt, identity_key: identityKey };
}

/**
 * Writes the log as it arrives and checks it on the way, so that a truncated download does not pass as an
 * export.
 */
async function askExport(
  client: AdminClient,
  _: readonly string[],
  { out, since, until }: Flags,
): Promise<AdminAnswer<ExportFacts>> {
  const dates = { since, until };
  if (out !== undefined) return downloadTo(client, dates, out);
  const answer = await download(client, dates, process.stdout.isTTY ? printToTerminal() : printText);
  return answer.ok ? { ...answer, isPrinted: true } : answer;
}

/** Throws if the download is incomplete. The export of a broken log is evidence and is kept. */
async function download(
  client: AdminClient,
  dates: Dates,
  write: (chunk: Uint8Array) => Promise<void>,
): Promise<AdminAnswer<ExportFacts>> {
  const check = new ExportCheck();
  const answer = await client.download('/api/admin/audit/export', dates, async (chunk) => {
    check.take(chunk);
    await write(chunk);
  });
  if (!answer.ok) return answer;
  const verdict = check.end();
  if (!verdict.isIntact)
    throw new InputError(`The export is incomplete: ${verdict.problems.join(' ')} Try again.`);
  return { ok: true, body: presentExport(verdict) };
}

/** A file keeps every byte, because they are signed; on a terminal, control characters are escaped. */
function printToTerminal(): (chunk: Uint8Array) => Promise<void> {
  const decoder = new TextDecoder();
  return (chunk) => printText(escapeJsonText(decoder.decode(chunk, { stream: true })));
}

/** The file gets its name once it is complete. */
async function downloadTo(client: AdminClient, dates: Dates, out: string): Promise<AdminAnswer<ExportFacts>> {
  const part = `${out}.part`;
  const file = await open(part, 'w', 0o600).catch(cannot('written', out));
  try {
    const answer = await download(client, dates, (chunk) =>
      file.appendFile(chunk).catch(cannot('written', out)),
    );
    await file.sync();
    if (!answer.ok) return answer;
    await rename(part, out).catch(cannot('written', out));
    return { ok: true, body: { ...answer.body, saved_as: out } };
  } finally {
    await file.close();
    await rm(part, { force: true });
  }
}

/** Checks an export without a server or a key: what it says about itself, and whether it is complete. */
async function checkFile({ flags }: LocalContext): Promise<AdminAnswer<ExportFacts>> {
  const check = new ExportCheck();
  const file = flags.file as string;
  try {
    for await (const chunk of createReadStream(file)) check.take(chunk as Uint8Array);
  } catch (error) {
    cannot('read', file)(error);
  }
  return { ok: true, body: presentExport(check.end()) };
}

function showExport({ ok, chains, links, events, thinned, problems, ...origin }: ExportFacts): string {
  if (!ok) {
    const saved = origin.saved_as === undefined ? '' : `\nIt was still saved as ${origin.saved_as}.`;
    return `The export is BROKEN:\n${problems.map((problem) => `  ${problem}`).join('\n')}${saved}`;
  }
  const older = thinned === 0 ? '' : `, and totals of ${thinned} older links`;
  const { hardware_id, exported_at, identity_key, saved_as, from, to } = origin;
  const facts = formatFacts({
    ...(from === null ? {} : { part: `links ${from} to ${to} of the log` }),
    'hardware id': hardware_id,
    'exported at': exported_at,
    'identity key': identity_key,
    ...(saved_as === undefined ? {} : { file: saved_as }),
  });
  return (
    `The export is intact: ${events} events in ${links} links of ${chains} chains${older}.\n${facts}\n` +
    'It comes from that server if "berth status" shows the same identity key there.'
  );
}
