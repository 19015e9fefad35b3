import { parseTimestamp } from '@berth/protocol/timestamp';

/** The allowed range of a number that the vendor enters. */
export interface Bounds {
  readonly from: number;
  readonly to: number;
  readonly isWhole: boolean;
}

/** Larger numbers are probably typing errors. */
export const SLOTS: Bounds = { from: 0, to: 1_000_000, isWhole: true };
export const MINUTES: Bounds = { from: 1, to: 525_600, isWhole: true };
export const DAYS_OR_HOURS: Bounds = { from: 0, to: 87_600, isWhole: false };
export const CERTIFICATE_DAYS: Bounds = { from: 1, to: 87_600, isWhole: true };
export const ACTIVATIONS: Bounds = { from: 1, to: 1_000_000, isWhole: true };
/** Numbers are exact only up to here. */
export const AMOUNT: Bounds = { from: 0, to: Number.MAX_SAFE_INTEGER, isWhole: true };

const NUMBER = /^\d{1,16}(?:\.\d{1,3})?$/;

/** An invalid value. The message says what is allowed. */
export class ValueError extends Error {}

export function readAmount(name: string, text: string, { from, to, isWhole }: Bounds): number {
  const value = NUMBER.test(text) ? Number(text) : Number.NaN;
  if (value >= from && value <= to && (!isWhole || Number.isInteger(value))) return value;
  const kind = isWhole ? 'whole numbers' : 'numbers';
  throw new ValueError(`"${name}" cannot be "${text}". Allowed: ${kind} from ${from} to ${to}.`);
}

const DAY_MS = 24 * 60 * 60 * 1000;
const DATE_ONLY = /^\d{4}-\d\d-\d\d$/;

/** An end: a date without a time means its last millisecond in UTC, because people are shown the day. */
export function readEndDate(name: string, text: string): number {
  const at = readDate(name, text);
  return DATE_ONLY.test(text.trim()) ? at + DAY_MS - 1 : at;
}

/** A start: a date without a time means the start of that day. */
export function readDate(name: string, text: string): number {
  const at = parseTimestamp(text);
  if (typeof at === 'number') return at;
  throw new ValueError(`"${name}" cannot be "${text}". Write a date in UTC, such as 2027-01-31.`);
}
