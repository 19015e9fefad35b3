import type { Channel } from '../../core/notify/channel.ts';
import type { Message, MessageFile } from '../../core/notify/message.ts';
import type { DigestPeriod } from '../../core/notify/when.ts';
import { type LicenseUse, writeDigest } from '../../core/notify/write-digest.ts';
import { DAY_MS, type Instant } from '../../core/nouns/instant.ts';
import { nameOfLicense } from '../../core/nouns/license.ts';
import { isExpiring } from '../../core/system/note.ts';
import type { SlotSeries } from '../../store/history-query.ts';
import type { Store } from '../../store/store.ts';
import { ASK_WHAT_IF } from '../history/ask-what-if.ts';
import type { RunTask } from '../tasks/task.ts';

const ENDING_DAYS = 30;
/** Those with most refusals; the what-if takes a second for a busy license. */
const MAX_WHAT_IFS = 10;
const MAX_TOKENS = 100;

type Span = { readonly since: Instant; readonly until: Instant };

export interface Reports {
  readonly files: readonly MessageFile[];
  /** What is missing in them, in sentences. */
  readonly remarks: readonly string[];
}

export type WriteReports = (span: Span) => Promise<Reports>;

interface DigestOptions {
  readonly store: Store;
  readonly writeReports: WriteReports;
  readonly runTask: RunTask;
  readonly signal: AbortSignal;
  /** `false`: the server stops, or another one sends. */
  readonly mayGoOn: () => boolean;
}

/**
 * What the history says about the period, and what ends in the next thirty days. `null`: it was not
 * finished.
 */
export async function composeDigest(
  options: DigestOptions,
  { name, zone, target }: Channel,
  period: DigestPeriod,
  now: Instant,
): Promise<Message | null> {
  const { store, writeReports, mayGoOn } = options;
  if (!mayGoOn()) return null;
  const { since, until, schedule, date } = period;
  const span = { since, until };
  const records = await store.read({ kind: 'list_licenses', product: null });
  const held = new Set<number>(records.map(({ license }) => license.id));
  const scope = { licenseId: null, feature: null, stepMs: DAY_MS };
  const series = await store.read({ kind: 'list_slot_history', ...span, ...scope });
  const licenses: LicenseUse[] = [];
  const sorted = series
    .filter(({ licenseId }) => held.has(licenseId))
    .toSorted((a, b) => b.totals.denials - a.totals.denials);
  for (const [place, one] of sorted.entries()) {
    if (!mayGoOn()) return null;
    const enough = place < MAX_WHAT_IFS ? await findEnough(options, one, { ...span, now }) : null;
    licenses.push(describe(one, enough));
  }
  const ending = [
    ...records
      .filter(({ license }) => isExpiring(license, now, ENDING_DAYS))
      .map(({ license }) => ({
        what: `The license ${nameOfLicense(license)}`,
        endsAt: license.validUntil as Instant,
      })),
    ...(await listEndingTokens(store)),
  ];
  const id = `${schedule}-${date}.${name}`;
  const digest = writeDigest({ id, period, zone, licenses, ending });
  if (target.kind !== 'mail') return digest;
  if (!mayGoOn()) return null;
  const { files, remarks } = await writeReports(span);
  return { ...digest, lines: [...digest.lines, ...remarks], files };
}

function describe({ name, feature, slots, totals }: SlotSeries, enough: number | null): LicenseUse {
  const part = feature === null ? name : `${feature} of ${name}`;
  return { name: part, slots, peak: totals.peak, refusals: totals.denials, enough };
}

async function findEnough(
  { store, runTask, signal }: DigestOptions,
  { licenseId, feature, totals }: SlotSeries,
  span: Span & { readonly now: Instant },
) {
  if (totals.denials === 0) return null;
  const asked = { ...span, licenseId, feature: feature ?? '' };
  const answer = await runTask(ASK_WHAT_IF, asked, store, signal);
  // Refusals by rules have no number of slots that would help.
  return answer === null || answer.asked === 0 ? null : answer.enough;
}

async function listEndingTokens(store: Store) {
  const ending = { endingWithinMs: ENDING_DAYS * DAY_MS, limit: MAX_TOKENS };
  const tokens = await store.read({ kind: 'list_tokens', ...ending });
  return tokens.flatMap(({ token: { id, name, expiresAt } }) =>
    expiresAt === null ? [] : [{ what: `The token ${name ?? id}`, endsAt: expiresAt }],
  );
}
