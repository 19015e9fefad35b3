import { escapeUnprintable, toPrintableJson } from '@berth/protocol/hidden-characters';
import { readAmount } from '../core/read-values.ts';
import { isRefusal, type Refusal } from '../core/refusal.ts';
import { blockDevice, listBlocked, listDevices, unblockDevice } from '../store/devices.ts';
import { listEvents } from '../store/events.ts';
import { getLicense } from '../store/licenses.ts';
import type { Shelf } from '../store/shelf.ts';
import type { Call, Command } from './command.ts';
import { presentDate, presentDevice, presentEvent } from './present.ts';
import { showDevices } from './show-license.ts';
import { formatTable } from './terminal.ts';

type Facts = Readonly<Record<string, unknown>>;

export const DEVICE_COMMANDS: readonly Command[] = [
  {
    words: 'device list',
    arguments: ['[KEY]'],
    flags: [],
    usage: '',
    about: 'where licenses are activated, and what is barred',
    run: runList,
    show: showAll,
  },
  {
    words: 'device block',
    arguments: ['HARDWARE_ID'],
    flags: [],
    usage: '',
    about: 'bar a machine from every license',
    run: runBlock,
    show: ({ hardware_id: id }: Facts) => `The machine "${id}" is barred.`,
  },
  {
    words: 'device unblock',
    arguments: ['HARDWARE_ID'],
    flags: [],
    usage: '',
    about: 'the opposite of block',
    run: runUnblock,
    show: ({ hardware_id: id }: Facts) => `The machine "${id}" is no longer barred.`,
  },
  {
    words: 'event list',
    arguments: [],
    flags: ['license', 'limit'],
    usage: '[--license KEY] [--limit N]',
    about: 'what happened, the newest first',
    run: runEvents,
    show: showEvents,
  },
];

/** `null`: all of them. */
function findId(shelf: Shelf, key: string | undefined): number | null | Refusal {
  if (key === undefined) return null;
  const license = getLicense(shelf, key);
  return isRefusal(license) ? license : license.id;
}

function runList({ shelf, words }: Call): unknown {
  const id = findId(shelf, words[0]);
  if (isRefusal(id)) return id;
  const blocked = listBlocked(shelf).map((one) => ({
    hardware_id: one.hardwareId,
    blocked_at: presentDate(one.blockedAt),
  }));
  return { devices: listDevices(shelf, id).map(presentDevice), ...(id === null ? { blocked } : {}) };
}

function showAll(facts: { devices: never[]; blocked?: readonly Facts[] }): string {
  const rows = (facts.blocked ?? []).map((one) => [one.hardware_id, one.blocked_at]);
  const barred = rows.length === 0 ? [] : [formatTable(['barred', 'since'], rows)];
  return [showDevices(facts), ...barred].join('\n\n');
}

function runBlock({ shelf, words, now }: Call): unknown {
  const blocked = blockDevice(shelf, words[0] as string, now);
  if (isRefusal(blocked)) return blocked;
  return { hardware_id: blocked.hardwareId, blocked_at: presentDate(blocked.blockedAt) };
}

function runUnblock({ shelf, words, now }: Call): unknown {
  const unblocked = unblockDevice(shelf, words[0] as string, now);
  return isRefusal(unblocked) ? unblocked : { hardware_id: unblocked.hardwareId };
}

const DEFAULT_EVENTS = 100;
const LIMIT = { from: 1, to: 1_000_000, isWhole: true } as const;

function runEvents({ shelf, flags }: Call): unknown {
  const id = findId(shelf, flags.license);
  if (isRefusal(id)) return id;
  const limit = flags.limit === undefined ? DEFAULT_EVENTS : readAmount('limit', flags.limit, LIMIT);
  return { events: listEvents(shelf, id, limit).map(presentEvent) };
}

function showEvents({ events }: { events: readonly Facts[] }): string {
  if (events.length === 0) return 'Nothing happened yet.';
  const rows = events.map(({ seq: _, at, kind, license_key: key, ...facts }) => {
    const told = Object.entries(facts).filter(([, value]) => value !== null);
    const words = told.map(
      ([name, value]) =>
        `${name}=${typeof value === 'string' ? escapeUnprintable(value) : toPrintableJson(value)}`,
    );
    return [at, key, kind, words.join(' ')];
  });
  return formatTable(['at', 'license', 'event', ''], rows);
}
