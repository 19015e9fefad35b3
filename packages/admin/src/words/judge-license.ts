import type { License } from '@berth/protocol/admin/licenses';
import type { FeatureObject as Feature } from '@berth/protocol/api/license-object';
import { type Counted, forecast } from './forecast.ts';
import { formatAmount, formatNumber } from './numbers.ts';
import { DAY_MS, formatDay, formatMoment, plural } from './time.ts';

export type Level = 'critical' | 'warning' | 'ok' | 'off';

/** What is to say about a license: a word, and the sentence that explains it. */
export interface Verdict {
  readonly level: Level;
  readonly word: string;
  /** Continues the name of the license. */
  readonly sentence: string;
  /** What helps: freeing slots, renewing it, checking it at the vendor, or else a look at the license. */
  readonly remedy: 'slots' | 'renew' | 'check' | 'look';
  /** When it begins to hurt; 0 if it does now. */
  readonly hurtsAt: number;
}

/** From so much on, slots and consumption are nearly used up; the server's notices say so, too. */
const NEARLY = 0.9;
const SOON_DAYS = 30;

const STATES: Readonly<Record<string, readonly [string, string, Verdict['remedy']]>> = {
  disabled: ['Disabled', 'was disabled by the vendor. It lends no slots.', 'look'],
  inactive: ['Not active', 'is not active at the vendor. It lends no slots.', 'look'],
  expired: ['Ended', 'has ended. It lends no slots.', 'renew'],
  elsewhere: [
    'Moved',
    'belongs to another machine. It lends no slots here until the vendor moves it.',
    'renew',
  ],
  overdue: ['Unchecked', 'could not be checked at the vendor for too long. It lends no slots.', 'check'],
};

export function nameOf({ product_details, product }: Pick<License, 'product_details' | 'product'>): string {
  return product_details.product_name.trim() || product;
}

/** All that is wrong with a license, the worst first; nothing if it is well. */
export function judgeLicense(license: License, now: number): readonly Verdict[] {
  if (license.answered_license_id != null) {
    const sentence = 'is known to the vendor under another id. Add its key again, or remove the license.';
    return [{ level: 'critical', word: 'Doubtful', sentence, remedy: 'look', hurtsAt: 0 }];
  }
  const stopped = STATES[license.state];
  if (stopped !== undefined) {
    const [word, sentence, remedy] = stopped;
    return [{ level: 'critical', word, sentence, remedy, hurtsAt: 0 }];
  }
  const found = [...judgeSlots(license), ...judgeEnd(license, now), ...judgeConsumption(license, now)];
  return found.sort(byPain);
}

/** The worst first; of those, what hurts first. */
export function byPain(one: Pick<Verdict, 'level' | 'hurtsAt'>, other: Pick<Verdict, 'level' | 'hurtsAt'>) {
  return rank(one) - rank(other) || one.hurtsAt - other.hurtsAt;
}

export function rank({ level }: { readonly level: Level }): number {
  return ['critical', 'warning', 'ok', 'off'].indexOf(level);
}

/** The worst of it, for a table. */
export function worstOf(license: License, now: number): Pick<Verdict, 'level' | 'word'> {
  const [worst] = judgeLicense(license, now);
  if (worst !== undefined) return worst;
  if (license.state === 'not_started') {
    return { level: 'off', word: 'Not started' };
  }
  return { level: 'ok', word: 'OK' };
}

function judgeSlots({ floating_in_use: used, floating_users: slots, state }: License): Verdict[] {
  if (slots === 0 || state === 'not_started') return [];
  const free = slots - used;
  if (free <= 0) {
    const sentence = `has no free slot: all ${formatNumber(slots)} are in use.`;
    return [{ level: 'critical', word: 'Full', sentence, remedy: 'slots', hurtsAt: 0 }];
  }
  if (used / slots < NEARLY) return [];
  const left = free === 1 ? 'one free slot' : `${formatNumber(free)} free slots`;
  const sentence = `has ${left} of ${formatNumber(slots)}.`;
  return [{ level: 'warning', word: 'Nearly full', sentence, remedy: 'slots', hurtsAt: 0 }];
}

function judgeEnd({ ends_at, state, floating_in_use: used }: License, now: number): Verdict[] {
  if (ends_at === null) return [];
  const end = Date.parse(ends_at);
  const users = used === 0 ? '' : ` ${plural(used, 'person is', 'people are')} using it now.`;
  if (state === 'in_grace') {
    const sentence = `has ended. Its grace period lasts until ${formatMoment(end, now)}.${users}`;
    return [{ level: 'warning', word: 'In grace', sentence, remedy: 'renew', hurtsAt: end }];
  }
  if (end - now > SOON_DAYS * DAY_MS) return [];
  const days = Math.ceil((end - now) / DAY_MS);
  const sentence = `ends in ${plural(days, 'day')}, on ${formatDay(end, now)}.${users}`;
  return [{ level: 'warning', word: 'Ends soon', sentence, remedy: 'renew', hurtsAt: end }];
}

/** What is counted; `null`: nothing, or without a maximum. */
export function countedOf(part: License | Feature): Counted | null {
  if (part.allow_unlimited_consumptions || part.max_consumptions <= 0) return null;
  return {
    total: part.total_consumptions,
    max: part.max_consumptions,
    period: part.consumption_period,
    overage: part.allow_overages ? part.max_overages : 0,
  };
}

function judgeConsumption(license: License, now: number): Verdict[] {
  const parts = [{ name: '', counted: countedOf(license) }].concat(
    license.product_features.map((feature) => ({
      name: feature.name || feature.code,
      counted: countedOf(feature),
    })),
  );
  const found = parts.flatMap(({ name, counted }) =>
    counted === null ? [] : judgeCounted(name, counted, now),
  );
  // One row for each license: the worst of its counts.
  return found.sort(byPain).slice(0, 1);
}

function judgeCounted(name: string, counted: Counted, now: number): Verdict[] {
  const { total, max, overage } = counted;
  const whose = name === '' ? '' : ` of its feature ${name}`;
  if (total >= max + overage) {
    const sentence = `has consumed all ${formatAmount(max)}${whose}.`;
    return [{ level: 'critical', word: 'Used up', sentence, remedy: 'look', hurtsAt: 0 }];
  }
  const used = `has consumed ${formatAmount(total)} of ${formatAmount(max)}${whose}.`;
  if (total >= max) {
    return [{ level: 'warning', word: 'In overage', sentence: used, remedy: 'look', hurtsAt: 0 }];
  }
  const { fullAt, endAt } = forecast(counted, now);
  if (fullAt !== null && endAt !== null) {
    const sentence = `${used} At this pace they last until ${formatDay(fullAt, now)}.`;
    return [{ level: 'warning', word: 'Runs out', sentence, remedy: 'look', hurtsAt: fullAt }];
  }
  if (total < max * NEARLY) return [];
  return [
    { level: 'warning', word: 'Nearly used up', sentence: used, remedy: 'look', hurtsAt: Number.MAX_VALUE },
  ];
}
