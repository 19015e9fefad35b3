import type { Fault } from './fault.ts';
import type { FaultRecord } from './record.ts';

export const RESULT_HEAD = ['| promise | command | size | result | run |', '|---|---|---|---|---|'];

/** A run as `docs/reliability.md` shows it. */
export function writeResultRow(fault: Fault, record: FaultRecord): string {
  const { command, count, violations, seconds, commit, day } = record;
  const result = violations === 0 ? 'no violation' : `**${violations} violations**`;
  const what = `${format(count)} ${fault.unit}`;
  const run = `${day}, \`${commit}\`, ${sayTime(seconds)}`;
  return `| ${fault.promise} | \`${command}\` | ${what} | ${result} | ${run} |`;
}

export function format(value: number | string): string {
  return typeof value === 'number' ? value.toLocaleString('en-US') : value;
}

export function sayTime(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
