import { escapeUnprintable } from '@berth/protocol/hidden-characters';
import { type Instant, plus } from '../nouns/instant.ts';
import { sayLocalDay } from '../rules/local-time.ts';
import type { Message } from './message.ts';
import type { DigestPeriod } from './when.ts';
import { sayCount } from './write-message.ts';

interface DigestFacts {
  /** The same for every attempt. */
  readonly id: string;
  readonly period: DigestPeriod;
  readonly zone: string;
  readonly licenses: readonly LicenseUse[];
  /** What ends within a month: licenses and tokens. */
  readonly ending: readonly { readonly what: string; readonly endsAt: Instant }[];
}

/** A license, or a feature of it, in this period. */
export interface LicenseUse {
  readonly name: string;
  readonly slots: number;
  readonly peak: number;
  readonly refusals: number;
  /** With how many slots no one would have been refused; `null`: not known, or no one was. */
  readonly enough: number | null;
}

/** Those that say most come first. */
const MAX_LICENSES = 30;

const TITLES = { daily: 'Daily digest', weekly: 'Weekly digest', monthly: 'Monthly digest' };

/** What the period was like, and what to do soon. */
export function writeDigest({ id, period, zone, licenses, ending }: DigestFacts): Message {
  const refusals = licenses.reduce((sum, license) => sum + license.refusals, 0);
  const sorted = licenses.toSorted((a, b) => b.refusals - a.refusals || share(b) - share(a));
  const left = Math.max(0, licenses.length - MAX_LICENSES);
  const refused = refusals === 0 ? 'no one was refused' : `${sayCount(refusals)} refusals`;
  const ends = ending.length === 0 ? '' : `, ${sayCount(ending.length)} to renew`;
  const lines = [
    `${saySpan(zone, period)}:`,
    ...sorted.slice(0, MAX_LICENSES).map(sayUse),
    ...(left === 0 ? [] : [`And ${left} more licenses and features.`]),
    ...(licenses.length === 0 ? ['This server has no licenses.'] : []),
    ...ending.map(({ what, endsAt }) => `${what} ends on ${sayLocalDay(zone, endsAt)}.`),
  ];
  return {
    id,
    severity: 'info',
    title: `${TITLES[period.schedule]}: ${refused}${ends}`,
    lines: lines.map(escapeUnprintable),
  };
}

/** Its first and its last day. */
function saySpan(zone: string, { since, until }: DigestPeriod): string {
  const [first, last] = [sayLocalDay(zone, since), sayLocalDay(zone, plus(until, -1))];
  return first === last ? first : `${first} to ${last}`;
}

function share({ peak, slots }: LicenseUse): number {
  return slots === 0 ? 0 : peak / slots;
}

function sayUse({ name, slots, peak, refusals, enough }: LicenseUse): string {
  const use = `${name}: at most ${sayCount(peak)} of ${sayCount(slots)} slots in use`;
  if (refusals === 0) return `${use}.`;
  const refused = refusals === 1 ? '1 refusal' : `${sayCount(refusals)} refusals`;
  const help =
    enough === null || enough <= slots
      ? ''
      : ` With ${sayCount(enough)} slots, no one would have been refused.`;
  return `${use}; ${refused}.${help}`;
}
