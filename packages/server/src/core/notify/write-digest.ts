import { escapeUnprintable } from '@berth/protocol/hidden-characters';
import type { Instant } from '../nouns/instant.ts';
import { sayLocalDay } from '../rules/local-time.ts';
import type { Message } from './message.ts';
import { sayCount } from './write-message.ts';

interface DigestFacts {
  /** The same for every attempt. */
  readonly id: string;
  readonly since: Instant;
  readonly zone: string;
  readonly licenses: readonly LicenseWeek[];
  /** What ends within a month: licenses and tokens. */
  readonly ending: readonly { readonly what: string; readonly endsAt: Instant }[];
}

/** A license, or a feature of it, in the last seven days. */
export interface LicenseWeek {
  readonly name: string;
  readonly slots: number;
  readonly peak: number;
  readonly refusals: number;
  /** With how many slots no one would have been refused; `null`: not known, or no one was. */
  readonly enough: number | null;
}

/** Those that say most come first. */
const MAX_LICENSES = 30;

/** What the last week was like, and what to do before the next. */
export function writeDigest({ id, since, zone, licenses, ending }: DigestFacts): Message {
  const refusals = licenses.reduce((sum, license) => sum + license.refusals, 0);
  const sorted = licenses.toSorted((a, b) => b.refusals - a.refusals || share(b) - share(a));
  const left = Math.max(0, licenses.length - MAX_LICENSES);
  const refused = refusals === 0 ? 'no one was refused' : `${sayCount(refusals)} refusals`;
  const ends = ending.length === 0 ? '' : `, ${sayCount(ending.length)} to renew`;
  const lines = [
    `Seven days since ${sayLocalDay(zone, since)}:`,
    ...sorted.slice(0, MAX_LICENSES).map(sayWeek),
    ...(left === 0 ? [] : [`And ${left} more licenses and features.`]),
    ...(licenses.length === 0 ? ['This server has no licenses.'] : []),
    ...ending.map(({ what, endsAt }) => `${what} ends on ${sayLocalDay(zone, endsAt)}.`),
  ];
  return {
    id,
    severity: 'info',
    title: `Last week: ${refused}${ends}`,
    lines: lines.map(escapeUnprintable),
  };
}

function share({ peak, slots }: LicenseWeek): number {
  return slots === 0 ? 0 : peak / slots;
}

function sayWeek({ name, slots, peak, refusals, enough }: LicenseWeek): string {
  const use = `${name}: at most ${sayCount(peak)} of ${sayCount(slots)} slots in use`;
  if (refusals === 0) return `${use}.`;
  const refused = refusals === 1 ? '1 refusal' : `${sayCount(refusals)} refusals`;
  const help =
    enough === null || enough <= slots
      ? ''
      : ` With ${sayCount(enough)} slots, no one would have been refused.`;
  return `${use}; ${refused}.${help}`;
}
