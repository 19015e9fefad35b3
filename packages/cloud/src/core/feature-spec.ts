import { CONSUMPTION_PERIODS } from '@berth/protocol/api/license-object';
import type { FeatureDraft } from './change-terms.ts';
import {
  AMOUNT,
  type Bounds,
  DAYS_OR_HOURS,
  MINUTES,
  readAmount,
  readEndDate,
  SLOTS,
  ValueError,
} from './read-values.ts';
import {
  type ConsumptionLimits,
  DEFAULT_TIMEOUT_MINUTES,
  type Feature,
  type Lending,
  NO_CONSUMPTION,
} from './terms.ts';

const CODE = /^[A-Za-z0-9][\w.-]{0,63}$/;

/** The options after a feature's code, each allowed once. */
const FEATURE_WORDS = [
  'name',
  'slots',
  'timeout',
  'borrow-hours',
  'consumptions',
  'overages',
  'negative',
  'period',
  'expires',
] as const;

type Word = (typeof FEATURE_WORDS)[number];
type Words = Partial<Record<Word, string>>;

/** A feature has either slots or a consumption limit, not both. */
const LENDING_WORDS: readonly Word[] = ['timeout', 'borrow-hours'];
const COUNTING_WORDS: readonly Word[] = ['overages', 'negative', 'period'];

/**
 * Parses `CODE[,WORD=VALUE]…`, such as `render,slots=2,timeout=10`. Throws a `ValueError` that says what is
 * wrong.
 */
export function parseFeatureSpec(spec: string): FeatureDraft {
  const [code = '', ...parts] = spec.split(',').map((part) => part.trim());
  if (!CODE.test(code)) {
    throw new ValueError(`"${code}" is not a valid feature code. Use letters, digits, ".", "_" and "-".`);
  }
  const words = readWords(code, parts);
  refuseMixture(code, words);
  const type: Feature['type'] = words.consumptions === undefined ? 'activation' : 'consumption';
  return {
    code,
    name: words.name ?? code,
    type,
    consumption: type === 'consumption' ? readLimits(words) : NO_CONSUMPTION,
    lending: words.slots === undefined ? null : readLending(words),
    expiresAt: words.expires === undefined ? null : readEndDate('expires', words.expires),
  };
}

function readWords(code: string, parts: readonly string[]): Words {
  const words: Words = {};
  for (const part of parts) {
    const [word, ...rest] = part.split('=');
    const known = FEATURE_WORDS.find((name) => name === word);
    if (known === undefined) {
      throw new ValueError(`The feature "${code}" has no "${word}". Allowed: ${FEATURE_WORDS.join(', ')}.`);
    }
    if (words[known] !== undefined) throw new ValueError(`The feature "${code}" has "${known}" twice.`);
    words[known] = rest.length === 0 && known === 'negative' ? 'true' : rest.join('=').trim();
  }
  return words;
}

function refuseMixture(code: string, words: Words): void {
  if (words.slots !== undefined && words.consumptions !== undefined) {
    throw new ValueError(`The feature "${code}" has either slots or consumptions, not both.`);
  }
  const lost =
    (words.slots === undefined && LENDING_WORDS.find((word) => words[word] !== undefined)) ||
    (words.consumptions === undefined && COUNTING_WORDS.find((word) => words[word] !== undefined));
  if (lost) {
    const needed = LENDING_WORDS.includes(lost) ? 'slots' : 'consumptions';
    throw new ValueError(`The feature "${code}" has "${lost}" without "${needed}".`);
  }
}

function readLending(words: Words): Lending {
  const read = (word: Word, fallback: number, bounds: Bounds) =>
    words[word] === undefined ? fallback : readAmount(word, words[word], bounds);
  return {
    slots: read('slots', 0, SLOTS),
    timeoutMinutes: read('timeout', DEFAULT_TIMEOUT_MINUTES, MINUTES),
    borrowHours: read('borrow-hours', 0, DAYS_OR_HOURS),
  };
}

function readLimits({ consumptions = '', overages, negative, period }: Words): ConsumptionLimits {
  return {
    max: consumptions === 'unlimited' ? null : readAmount('consumptions', consumptions, AMOUNT),
    overages: overages === undefined ? 0 : readAmount('overages', overages, AMOUNT),
    allowNegative: negative === undefined ? false : readYes('negative', negative),
    period: period === undefined ? null : readPeriod(period),
  };
}

function readYes(word: string, text: string): boolean {
  if (text === 'true' || text === 'yes') return true;
  if (text === 'false' || text === 'no') return false;
  throw new ValueError(`"${word}" cannot be "${text}". Allowed: true, false.`);
}

export function readPeriod(text: string): NonNullable<ConsumptionLimits['period']> {
  const period = CONSUMPTION_PERIODS.find((name) => name === text);
  if (period !== undefined) return period;
  throw new ValueError(`"period" cannot be "${text}". Allowed: ${CONSUMPTION_PERIODS.join(', ')}.`);
}
