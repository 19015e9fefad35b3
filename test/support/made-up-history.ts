import { GRAINS, heldMinutes, MONTH_GRAIN, monthStart } from '@berth/server/core/history/grain';
import { historyCutoffs } from '@berth/server/core/history/thinning';
import {
  bucketStart,
  DAY_MS,
  HOUR_MS,
  type Instant,
  instant,
  MINUTE_MS,
} from '@berth/server/core/nouns/instant';
import { createRandom, pickNumber, pickOne, type Random } from './random.ts';

type Row = Readonly<Record<string, number | string | null>>;

/** Rows for a table of the history. */
interface MadeUpRows {
  readonly table: string;
  readonly rows: readonly Row[];
}

export interface MadeUpHistory {
  readonly licenseIds: readonly number[];
  readonly features: readonly string[];
  readonly slots: number;
  /** Different users of each license. */
  readonly users: number;
  readonly days: number;
  readonly now: Instant;
  readonly seed: number;
}

/** How much is used in each hour of a working day. */
const HOURS = [0, 0, 0, 0, 0, 0, 1, 4, 8, 10, 10, 9, 6, 9, 10, 10, 8, 5, 2, 1, 0, 0, 0, 0];

/** Users who work on a day. */
const ACTIVE_SHARE = 0.6;
const DENIALS_A_DAY = 25;

/**
 * A history as it looks after so many days, thinned as the server does it: everybody comes in the morning and
 * leaves in the evening, weekends are quiet, and every day begins and ends with no slot in use.
 */
export function* makeUpHistory(wish: MadeUpHistory): Generator<MadeUpRows> {
  const random = createRandom(wish.seed);
  const cutoffs = historyCutoffs(wish.now, 3650);
  const today = bucketStart(wish.now, DAY_MS);
  for (const id of wish.licenseIds) {
    const months = new Map<string, Row>();
    for (let day = wish.days; day >= 1; day--) {
      const at = instant(today - day * DAY_MS);
      const isWorking = ![0, 6].includes(new Date(at).getUTCDay());
      const most = Math.round(wish.slots * (isWorking ? 0.7 + 0.3 * random() : 0.05));
      for (const feature of ['', ...wish.features]) {
        const peak = feature === '' ? most : Math.round(most / 3);
        yield { table: 'history_slot', rows: slotRows(random, { id, feature, at, peak }, cutoffs) };
        yield { table: 'history_duration', rows: durationRows(random, { id, feature, at, peak }) };
        yield { table: 'history_wait', rows: waitRows({ id, feature, at, peak }) };
      }
      yield { table: 'history_denial', rows: denialRows(random, wish, id, at, isWorking, cutoffs) };
      const amount = pickNumber(random, { from: 1, to: 500 });
      yield { table: 'history_consumption', rows: [{ license_id: id, feature: '', at, amount }] };
      const people = isWorking ? personRows(random, wish, id, at) : [];
      if (at >= cutoffs.days) yield { table: 'history_person', rows: people };
      else for (const row of people) addToMonth(months, row);
    }
    yield { table: 'history_person', rows: [...months.values()] };
  }
}

interface Place {
  readonly id: number;
  readonly feature: string;
  readonly at: Instant;
  readonly peak: number;
}

const NOTHING = { grants: 0, returns: 0, denials: 0, peak: 0, net: 0, late: 0, borrowed: 0 };

function slotRows(
  random: Random,
  { id, feature, at, peak }: Place,
  { minutes, hours }: ReturnType<typeof historyCutoffs>,
): readonly Row[] {
  const place = { license_id: id, feature };
  const denials = feature === '' ? DENIALS_A_DAY : 0;
  if (at < hours) {
    const late = -Math.round(peak * 0.4 * DAY_MS);
    const day = { ...place, grain: GRAINS.day, at, ...NOTHING };
    return [{ ...day, grants: peak, returns: peak, denials, peak, late }];
  }
  const grain = at < minutes ? GRAINS.hour : 5 * MINUTE_MS;
  const rows: Row[] = [];
  let inUse = 0;
  for (let start = 0; start < DAY_MS; start += grain) {
    const [from = 0, to = 0] = [HOURS[Math.floor(start / HOUR_MS)], HOURS[Math.ceil(start / HOUR_MS)] ?? 0];
    const share = from + (to - from) * ((start % HOUR_MS) / HOUR_MS);
    const next = start + grain >= DAY_MS ? 0 : Math.round((peak * share) / 10);
    const moved = pickNumber(random, { from: 0, to: Math.ceil(next / 50) });
    const net = next - inUse;
    if (net === 0 && moved === 0) continue;
    const grants = Math.max(0, net) + moved;
    const length = at < minutes ? GRAINS.hour : GRAINS.minute;
    rows.push({
      ...place,
      grain: length,
      at: at + start,
      ...NOTHING,
      grants,
      returns: grants - net,
      peak: Math.max(inUse, next),
      net,
      late: net * Math.floor(random() * length),
    });
    inUse = next;
  }
  return rows;
}

function durationRows(random: Random, { id, feature, at, peak }: Place): readonly Row[] {
  const counts = new Map<number, number>();
  for (let i = 0; i < Math.min(peak, 200); i++) {
    const minutes = heldMinutes(pickNumber(random, { from: 1, to: 600 }) * MINUTE_MS);
    counts.set(minutes, (counts.get(minutes) ?? 0) + 1);
  }
  return [...counts].map(([minutes, sessions]) => ({ license_id: id, feature, at, minutes, sessions }));
}

/** The shorter waits end with a slot. */
function waitRows({ id, feature, at, peak }: Place): readonly Row[] {
  return Array.from({ length: Math.min(peak, 10) }, (_, index) => {
    const [served, unserved] = index < 8 ? [1, 0] : [0, 1];
    return { license_id: id, feature, at, seconds: 1 + index * 5, served, unserved };
  });
}

const REASONS = [
  'floating_not_available',
  'floating_not_available',
  'floating_not_available',
  'blacklisted',
  'license_borrow_not_allowed',
] as const;

function denialRows(
  random: Random,
  { users, slots }: MadeUpHistory,
  id: number,
  day: Instant,
  isWorking: boolean,
  { minutes, hours }: ReturnType<typeof historyCutoffs>,
): readonly Row[] {
  const grain = [GRAINS.minute, GRAINS.hour, GRAINS.day][day >= minutes ? 0 : day >= hours ? 1 : 2] as number;
  const rows = new Map<string, Row>();
  for (let i = 0; i < (isWorking ? DENIALS_A_DAY : 2); i++) {
    const at = instant(day + 8 * HOUR_MS + Math.floor(random() * 10 * HOUR_MS));
    const number = pickNumber(random, { from: 0, to: users - 1 });
    const row = {
      license_id: id,
      feature: '',
      grain,
      at: bucketStart(at, grain),
      user: userOf(number),
      others: 0,
      host: `ws-${number}`,
      address: addressOf(number),
      reason: pickOne(random, REASONS),
      rule: '',
      denials: pickNumber(random, { from: 1, to: 9 }),
      first_at: at,
      last_at: at,
      slots,
      in_use: slots,
      borrowed: 0,
      next_free_at: at + 5 * MINUTE_MS,
    };
    rows.set(JSON.stringify([row.at, row.user, row.reason]), row);
  }
  return [...rows.values()];
}

function personRows(random: Random, { users }: MadeUpHistory, id: number, at: Instant): readonly Row[] {
  const rows: Row[] = [];
  for (let number = 0; number < users; number++) {
    if (random() > ACTIVE_SHARE) continue;
    const sessions = pickNumber(random, { from: 1, to: 4 });
    rows.push({
      license_id: id,
      feature: '',
      grain: GRAINS.day,
      at,
      user: userOf(number),
      others: 0,
      grants: sessions,
      denials: random() < 0.05 ? 1 : 0,
      sessions,
      held_ms: sessions * pickNumber(random, { from: 1, to: 3 * HOUR_MS }),
      last_at: at + pickNumber(random, { from: 8 * HOUR_MS, to: 18 * HOUR_MS }),
    });
  }
  return rows;
}

/** Names look like those of `test/bench/seed-store.ts`. */
function userOf(number: number): string {
  return `user-${String(2 * number).padStart(7, '0')}`;
}

function addressOf(number: number): string {
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
}

function addToMonth(months: Map<string, Row>, row: Row): void {
  const at = monthStart(row.at as Instant);
  const key = `${row.user} ${at}`;
  const known = months.get(key) ?? { ...row, grants: 0, denials: 0, sessions: 0, held_ms: 0 };
  const sum = (name: string) => (known[name] as number) + (row[name] as number);
  const sums = {
    grants: sum('grants'),
    denials: sum('denials'),
    sessions: sum('sessions'),
    held_ms: sum('held_ms'),
  };
  months.set(key, { ...known, ...sums, grain: MONTH_GRAIN, at, last_at: row.last_at ?? 0 });
}
