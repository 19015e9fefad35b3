import { MOMENT_FORMS, parseMoment } from '@berth/protocol/moment';
import { RequestError } from '@berth/protocol/request-error';
import { DAY_MS, type Instant, instant, plus } from '../../core/nouns/instant.ts';
import { LookBack } from '../../core/replay/look-back.ts';
import { type Judged, Replay } from '../../core/replay/replay.ts';
import type { RuleSet } from '../../core/rules/rule-set.ts';
import type { AuditLink, ListRegistrations, RegistrationPage } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import { stopIf } from '../tasks/task.ts';

interface Trial {
  readonly rules: RuleSet;
  /** As `parseMoment` reads it. */
  readonly since?: string | undefined;
  /** The client has disconnected. */
  readonly signal: AbortSignal;
  /** Sees every answer. */
  readonly watch?: (judged: Judged) => void;
}

export type LogReader = Pick<Store, 'read' | 'keepClock'>;

const DEFAULT_DAYS = 30;

/** One page takes a few milliseconds, for which other requests wait. */
const EVENTS_AT_ONCE = 500;
const LINKS_AT_ONCE = 500;
const SLOTS_AT_ONCE = 1000;

/**
 * How many older links are searched for where a slot was taken that was held at the beginning. Slots that
 * nobody gave back for longer count for their user alone.
 */
const MAX_OLDER_LINKS = 500_000;

/** What rules would have answered to the requests of the past. Reads the log twice, page by page. */
export async function tryRules(store: LogReader, { rules, since: text, signal, watch }: Trial) {
  const { now } = await store.keepClock();
  const since = readSince(text, now);
  const records = await store.read({ kind: 'list_licenses', product: null });
  const back = new LookBack(
    since,
    records.map(({ license }) => license),
  );
  await holdSlots(store, back, signal);
  const { lastSeq } = await store.read({ kind: 'describe_audit' });
  const firstSeq = await walkBack(store, back, { since, lastSeq, signal });
  const replay = new Replay(rules, back.finish(), since, watch);
  for await (const link of walkOn(store, firstSeq, lastSeq, signal)) if (link.at >= since) replay.take(link);
  return { since, until: now, ...replay.finish(now) };
}

async function holdSlots(store: LogReader, back: LookBack, signal: AbortSignal): Promise<void> {
  const everybody = { licenseId: null, product: null, user: null, limit: SLOTS_AT_ONCE };
  let after: ListRegistrations['after'] = null;
  for (;;) {
    stopIf(signal);
    const page: RegistrationPage = await store.read({ kind: 'list_registrations', ...everybody, after });
    for (const { licenseId, registration, features } of page.registrations) {
      back.hold(licenseId, registration, features);
    }
    const last = page.registrations.at(-1);
    if (last === undefined) return;
    after = { licenseId: last.licenseId, user: last.registration.user };
  }
}

interface Walk {
  readonly since: Instant;
  readonly lastSeq: number;
  readonly signal: AbortSignal;
}

/** Returns the first link that has to be replayed. */
async function walkBack(store: LogReader, back: LookBack, { since, lastSeq, signal }: Walk): Promise<number> {
  let first = lastSeq + 1;
  let before = lastSeq + 1;
  for (let older = 0; older < MAX_OLDER_LINKS; ) {
    stopIf(signal);
    const size = { limit: LINKS_AT_ONCE, eventLimit: EVENTS_AT_ONCE };
    const links = await store.read({ kind: 'list_audit', chain: null, ...size, before });
    for (const link of links) {
      back.take(link);
      if (link.at >= since) first = link.seq;
      else older += 1;
    }
    const last = links.at(-1);
    if (last === undefined || (last.at < since && back.isDone)) break;
    before = last.seq;
  }
  return first;
}

async function* walkOn(
  store: LogReader,
  first: number,
  lastSeq: number,
  signal: AbortSignal,
): AsyncGenerator<AuditLink> {
  for (let after = first - 1; after < lastSeq; ) {
    stopIf(signal);
    const size = { limit: LINKS_AT_ONCE, eventLimit: EVENTS_AT_ONCE };
    const links = await store.read({ kind: 'list_audit', chain: null, ...size, before: null, after });
    if (links.length === 0) return;
    for (const link of links) if (link.seq <= lastSeq) yield link;
    after = links.at(-1)?.seq ?? lastSeq;
  }
}

function readSince(text: string | undefined, now: Instant): Instant {
  if (text === undefined) return plus(now, -DEFAULT_DAYS * DAY_MS);
  const millis = parseMoment(text, 'since', now);
  if (millis !== undefined && millis >= 0 && millis < now) return instant(millis);
  const message =
    millis === undefined ? `"since" must be ${MOMENT_FORMS}.` : '"since" must not be in the future.';
  throw new RequestError('validation_error', message, { field: 'since' });
}
