import { ERRORS } from '@berth/protocol/errors';
import { MOMENT_FORMS, parseMoment } from '@berth/protocol/moment';
import { RequestError } from '@berth/protocol/request-error';
import { suggest } from '@berth/protocol/suggest';
import { GRAINS } from '../../core/history/grain.ts';
import { historyCutoffs } from '../../core/history/thinning.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import {
  bucketStart,
  DAY_MS,
  earlier,
  HOUR_MS,
  type Instant,
  instant,
  MINUTE_MS,
  plus,
} from '../../core/nouns/instant.ts';
import type { LicenseId } from '../../core/nouns/license.ts';
import { userNameOf } from '../../core/nouns/user-name.ts';
import type { HistoryAnswers, WhatIfAnswer } from '../../store/history-query.ts';
import type { Store } from '../../store/store.ts';
import type { RunTask } from '../tasks/task.ts';
import { ASK_WHAT_IF } from './ask-what-if.ts';

/** Reports on what was lent, denied and consumed. */
export interface History {
  listSlots(
    filter: SlotFilter,
  ): Promise<Within & { readonly series: HistoryAnswers['list_slot_history'] } & Step>;
  listDenials(filter: DenialFilter): Promise<HistoryAnswers['list_denial_history']>;
  listUsers(filter: UsageFilter): Promise<HistoryAnswers['list_user_history']>;
  listConsumption(filter: FeatureFilter): Promise<HistoryAnswers['list_consumption_history']>;
  listWaits(filter: FeatureFilter): Promise<HistoryAnswers['list_wait_history']>;
  /** `signal`: the client has disconnected. */
  askWhatIf(filter: FeatureFilter, signal: AbortSignal): Promise<WhatIfAnswer>;
  /** Removes a user's name from all records. Returns how many there were. */
  forget(user: string, by: Actor): Promise<number>;
  /** Makes older parts coarser, and forgets the oldest. Returns in how many steps. */
  thin(): Promise<number>;
}

/** From when to when, as `parseMoment` reads it. */
interface HistoryFilter {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly licenseId: LicenseId | null;
}

interface FeatureFilter extends HistoryFilter {
  readonly feature?: string | undefined;
}

interface SlotFilter extends FeatureFilter {
  readonly grain?: 'auto' | keyof typeof GRAINS | undefined;
}

interface UserFilter extends HistoryFilter {
  readonly user?: string | undefined;
  /** A part of a name. */
  readonly search?: string | undefined;
  readonly limit?: number | undefined;
}

interface UsageFilter extends UserFilter {
  readonly by?: 'day' | undefined;
}

interface DenialFilter extends UserFilter, FeatureFilter {
  readonly reason?: string | undefined;
}

interface Within {
  readonly since: Instant;
  readonly until: Instant;
}

interface Step {
  readonly grain: keyof typeof GRAINS;
  readonly stepMs: number;
}

const DEFAULT_DAYS = 30;
const DEFAULT_ROWS = 100;
/** Most rows of a list. */
const MAX_ROWS = 10_000;

/** Most points of a curve if only one license is shown, and if all are. */
const MAX_POINTS = 1500;
const MAX_POINTS_OF_ALL = 400;
/** Most if the caller chooses the grain: a week of minutes, and the minutes until the week is thinned out. */
const MAX_CHOSEN_POINTS = 12_000;

const STEPS_MS = [1, 5, 15, 30]
  .map((minutes) => minutes * MINUTE_MS)
  .concat([1, 3, 6, 12].map((hours) => hours * HOUR_MS));

const MAX_STEPS = 500;

export function createHistory(
  store: Store,
  { keepDays }: { readonly keepDays: number },
  run: RunTask,
): History {
  const readNow = async () => (await store.keepClock()).now;
  const within = async (filter: HistoryFilter) => readSpan(filter, await readNow());
  return {
    async listSlots({ grain = 'auto', feature, ...filter }) {
      const asked = await within(filter);
      const { licenseId } = filter;
      const stepMs = chooseStep(asked, grain, licenseId !== null);
      const { since, until, now } = asked;
      const scope = { licenseId, feature: feature ?? (licenseId === null ? '' : null), stepMs };
      const series = await store.read({ kind: 'list_slot_history', since, until, ...scope });
      return { since, until: earlier(until, now), grain: grainOf(stepMs), stepMs, series };
    },
    async listDenials({ feature = null, user, search, reason = null, limit, ...filter }) {
      if (reason !== null) requireReason(reason);
      const { since, until } = await within(filter);
      return store.read({
        kind: 'list_denial_history',
        since,
        until,
        licenseId: filter.licenseId,
        feature,
        reason,
        search,
        user: user === undefined ? null : userNameOf(user),
        limit: rowsOf(limit),
      });
    },
    async listUsers({ user, search, by, limit, licenseId, ...filter }) {
      const { since, until } = await within({ ...filter, licenseId });
      return store.read({
        kind: 'list_user_history',
        since: bucketStart(since, DAY_MS),
        until,
        licenseId,
        user: user === undefined ? null : userNameOf(user),
        search,
        isByDay: by === 'day',
        limit: rowsOf(limit),
      });
    },
    async listConsumption({ feature = null, licenseId, ...filter }) {
      const { since, until } = await within({ ...filter, licenseId });
      const days = { since: bucketStart(since, DAY_MS), until };
      return store.read({ kind: 'list_consumption_history', ...days, licenseId, feature, limit: MAX_ROWS });
    },
    async listWaits({ feature = null, licenseId, ...filter }) {
      const { since, until } = await within({ ...filter, licenseId });
      return store.read({ kind: 'list_wait_history', since, until, licenseId, feature });
    },
    async askWhatIf({ feature = '', ...filter }, signal) {
      const licenseId = filter.licenseId ?? (await findOnlyLicense(store));
      const answer = await run(ASK_WHAT_IF, { ...(await within(filter)), licenseId, feature }, store, signal);
      if (answer !== null) return answer;
      const what = feature === '' ? 'that id' : `that id and a floating feature "${feature}"`;
      throw new RequestError('license_not_found', `This server has and had no license with ${what}.`);
    },
    async forget(user, by) {
      const outcome = await store.execute({ kind: 'forget_user', user: userNameOf(user), by });
      return outcome.kind === 'done' ? outcome.count : 0;
    },
    thin: async () => thinSome(store, await readNow(), keepDays),
  };
}

const REASONS = Object.entries(ERRORS).flatMap(([code, { denial }]) => (denial === undefined ? [] : [code]));

/** A typo would look as if nobody had been denied. */
function requireReason(reason: string): void {
  if (REASONS.includes(reason)) return;
  const message = `"reason": nobody is denied because of "${reason}".${suggest(reason, REASONS)}`;
  throw new RequestError('validation_error', `${message} Reasons are ${REASONS.join(', ')}.`, {
    field: 'reason',
  });
}

async function findOnlyLicense(store: Store): Promise<LicenseId> {
  const [only, ...others] = await store.read({ kind: 'list_licenses', product: null });
  if (only !== undefined && others.length === 0) return only.license.id;
  const message =
    only === undefined
      ? 'This server has no license. "license" is the id of one that it had.'
      : `This server has ${others.length + 1} licenses. Say which one with "license", the id of a license.`;
  throw new RequestError('missing_parameters', message, { field: 'license' });
}

/** Steps per run: few enough to finish while the server stops. The next run does the rest. */
async function thinSome(store: Store, now: Instant, keepDays: number): Promise<number> {
  const work = await store.read({ kind: 'list_old_history', ...historyCutoffs(now, keepDays) });
  const steps = work.slice(0, MAX_STEPS);
  for (const { licenseId, step } of steps) await store.execute({ kind: 'thin_history', licenseId, step });
  return steps.length;
}

const NEVER = instant(Number.MAX_SAFE_INTEGER);

function readSpan({ since, until }: HistoryFilter, now: Instant): Within & { readonly now: Instant } {
  // The end is excluded, and what happens now is not.
  const end = earlier(readTime('until', until, now) ?? NEVER, plus(now, 1));
  const start = readTime('since', since, now) ?? plus(end, -DEFAULT_DAYS * DAY_MS);
  if (start >= end) {
    throw new RequestError('validation_error', '"since" must be before "until" and not in the future.', {
      field: 'since',
    });
  }
  return { since: bucketStart(start, MINUTE_MS), until: end, now };
}

function readTime(field: 'since' | 'until', text: string | undefined, now: Instant): Instant | null {
  if (text === undefined) return null;
  const millis = parseMoment(text, field, now);
  if (millis !== undefined && millis >= 0) return instant(millis);
  throw new RequestError('validation_error', `"${field}" must be ${MOMENT_FORMS}.`, { field });
}

function rowsOf(limit: number | undefined): number {
  return Math.min(limit ?? DEFAULT_ROWS, MAX_ROWS);
}

function chooseStep({ since, until }: Within, grain: 'auto' | keyof typeof GRAINS, isOne: boolean): number {
  const most = isOne ? MAX_POINTS : MAX_POINTS_OF_ALL;
  if (grain === 'auto') return STEPS_MS.find((step) => (until - since) / step <= most) ?? DAY_MS;
  const points = (until - since) / GRAINS[grain];
  if (points <= MAX_CHOSEN_POINTS) return GRAINS[grain];
  throw new RequestError(
    'validation_error',
    `This would be up to ${Math.ceil(points)} points. Choose a coarser grain, or a shorter time.`,
    { field: 'grain' },
  );
}

function grainOf(stepMs: number): keyof typeof GRAINS {
  if (stepMs >= DAY_MS) return 'day';
  return stepMs >= HOUR_MS ? 'hour' : 'minute';
}
