import { BerthError } from './errors.ts';

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds, or a text such as `90s`, `5m`, `2h` or `7d`. */
export type Duration = number | string;

export function parseDuration(name: string, value: Duration): number {
  const [, digits, unit] = /^(\d{1,9})\s?(ms|s|m|h|d)$/.exec(String(value).trim()) ?? [];
  const millis = typeof value === 'number' ? value : Number(digits) * (UNITS_MS[unit ?? ''] ?? Number.NaN);
  if (Number.isFinite(millis) && millis >= 0) return millis;
  throw new BerthError(
    'invalid_option',
    `"${name}" is not a duration: ${value}.`,
    'Give milliseconds as a number, or a text such as "90s", "5m", "2h" or "7d".',
  );
}
