import { suggest } from '@berth/protocol/suggest';
import { isZone } from '../../core/rules/local-time.ts';
import type { Times } from '../../core/rules/rule-set.ts';
import type { Cursor } from './cursor.ts';
import { refuseName } from './refuse-entry.ts';

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const EVERY_DAY = DAYS.map((_, day) => day);

const DAY_MINUTES = 24 * 60;

/** Each decision looks at the time of every rule. */
const MAX_TIMES = 100;

export function readTimes(section: Cursor | undefined): Readonly<Record<string, Times>> {
  const entries = section?.entries() ?? [];
  if (entries.length > MAX_TIMES)
    section?.fail(`has ${entries.length} entries; at most ${MAX_TIMES} are allowed.`);
  return Object.fromEntries(entries.map(([name, window]) => [name, readWindow(name, window)]));
}

function readWindow(name: string, window: Cursor): Times {
  const problem = refuseName(name);
  if (problem !== null) window.fail(`${problem}.`, window.at);
  const { days, from, to, zone } = window.fields(['days', 'from', 'to', 'zone']);
  if (zone === undefined) window.fail('has no zone. Add one, such as "zone: Europe/Berlin".', window.at);
  return {
    days: days === undefined ? EVERY_DAY : readDays(days),
    from: from === undefined ? 0 : readMinute(from),
    to: to === undefined ? DAY_MINUTES : readMinute(to),
    zone: zone === undefined ? 'UTC' : readZone(zone),
  };
}

/** `mon-fri`, `sat`, or a list of such. */
function readDays(days: Cursor): readonly number[] {
  const parts = days.isList ? days.items(DAYS.length) : [days];
  const found = new Set(parts.flatMap(readSpan));
  if (parts.length === 0) days.fail('names no day.');
  return EVERY_DAY.filter((day) => found.has(day));
}

function readSpan(part: Cursor): readonly number[] {
  const text = part.text();
  if (text === null) return [];
  const [first, last = first, ...rest] = text
    .toLowerCase()
    .split('-')
    .map((day) => DAYS.indexOf(day.trim()));
  if (first === undefined || last === undefined || first < 0 || last < 0 || rest.length > 0) {
    part.fail(`is "${text}"; write days such as mon, mon-fri or [mon, wed, sat].`);
    return [];
  }
  const length = (last - first + 7) % 7;
  return EVERY_DAY.slice(0, length + 1).map((step) => (first + step) % 7);
}

function readMinute(time: Cursor): number {
  const text = time.text();
  if (text === null) return 0;
  const [, hours, minutes] = /^(\d{1,2}):([0-5]\d)$/.exec(text.trim()) ?? [];
  const value = Number(hours) * 60 + Number(minutes);
  if (value <= DAY_MINUTES) return value;
  time.fail(`is "${text}"; write a time such as "08:30", up to "24:00".`);
  return 0;
}

function readZone(zone: Cursor): string {
  const text = zone.text();
  if (text === null || isZone(text)) return text ?? 'UTC';
  const example =
    suggest(text, Intl.supportedValuesOf('timeZone')) || ' Use one such as Europe/Berlin or UTC.';
  zone.fail(`is "${text}", which is no time zone.${example}`);
  return 'UTC';
}
