import { escapeUnprintable, toPrintableJson } from '@berth/protocol/hidden-characters';
import { formatFacts, formatTable } from '@berth/shell/console/console-text';
import { readAmount } from '../../core/read-values.ts';
import { isRefusal, type Refusal } from '../../core/refusal.ts';
import type { CloudStore } from '../../store/cloud-store.ts';
import { blockDevice, listBlocked, listDevices, unblockDevice } from '../../store/devices.ts';
import { listEvents } from '../../store/events.ts';
import { type ListedKey, listServerKeys } from '../../store/keys/server-keys.ts';
import {
  type ApprovedKey,
  approveKey,
  listWaitingKeys,
  type WaitingKey,
} from '../../store/keys/waiting-keys.ts';
import { getLicense } from '../../store/licenses.ts';
import type { Call, Command } from '../command.ts';
import { presentDate, presentDevice, presentEvent } from './present.ts';
import { showDevices } from './show-license.ts';

type Facts = Readonly<Record<string, unknown>>;

export const DEVICE_COMMANDS: readonly Command[] = [
  {
    words: 'device list',
    arguments: ['[KEY]'],
    usage: '[--device HARDWARE_ID]',
    about: 'list machines with their licenses, barred machines, and known and waiting server keys',
    run: runList,
    show: showAll,
  },
  {
    words: 'device approve',
    arguments: ['HARDWARE_ID', 'FINGERPRINT'],
    about: 'accept this key for a machine, and certify the grant keys that it tells',
    run: runApprove,
    show: showApproved,
  },
  {
    words: 'device block',
    arguments: ['HARDWARE_ID'],
    about: 'bar a machine from every license',
    run: runBlock,
    show: ({ hardware_id: id }: Facts) => `Barred machine "${id}".`,
  },
  {
    words: 'device unblock',
    arguments: ['HARDWARE_ID'],
    about: 'unbar a machine',
    run: runUnblock,
    show: ({ hardware_id: id }: Facts) => `Machine "${id}" is no longer barred.`,
  },
  {
    words: 'event list',
    usage: '[--license KEY] [--limit N]',
    about: 'list what happened, newest first',
    run: runEvents,
    show: showEvents,
  },
];

/** `null`: all licenses. */
function findId(store: CloudStore, key: string | undefined): number | null | Refusal {
  if (key === undefined) return null;
  const license = getLicense(store, key);
  return isRefusal(license) ? license : license.id;
}

function runList({ store, words, flags }: Call): unknown {
  const id = findId(store, words[0]);
  if (isRefusal(id)) return id;
  const isWanted = ({ hardwareId }: { readonly hardwareId: string }) =>
    flags.device === undefined || hardwareId.startsWith(flags.device);
  const blocked = listBlocked(store)
    .filter(isWanted)
    .map((one) => ({
      hardware_id: one.hardwareId,
      blocked_at: presentDate(one.blockedAt),
    }));
  const waiting = listWaitingKeys(store, null).filter(isWanted).map(presentWaiting);
  const known = listServerKeys(store, id).filter(isWanted).map(presentKnown);
  const devices = listDevices(store, id).filter(isWanted).map(presentDevice);
  return { devices, known, ...(id === null ? { blocked, waiting } : {}) };
}

function showAll(facts: {
  devices: never[];
  known: readonly Known[];
  blocked?: readonly Facts[];
  waiting?: readonly Waiting[];
}): string {
  const { blocked = [], waiting = [] } = facts;
  const rows = blocked.map((one) => [one.hardware_id, one.blocked_at]);
  const barred = rows.length === 0 ? [] : [formatTable(['barred', 'since'], rows)];
  return [showDevices(facts), ...showKnown(facts.known), ...barred, ...showWaiting(waiting)].join('\n\n');
}

type Known = ReturnType<typeof presentKnown>;

function presentKnown(one: ListedKey) {
  return {
    hardware_id: one.hardwareId,
    fingerprint: one.fingerprint,
    confirmed: one.isConfirmed,
    approved: one.isApproved,
    learned_at: presentDate(one.learnedAt),
  };
}

function showKnown(known: readonly Known[]): readonly string[] {
  if (known.length === 0) return [];
  const rows = known.map((one) => Object.values(one));
  return [formatTable(['known by a key', 'fingerprint', 'confirmed', 'approved', 'since'], rows)];
}

type Waiting = ReturnType<typeof presentWaiting>;

function presentWaiting(one: WaitingKey) {
  return {
    hardware_id: one.hardwareId,
    fingerprint: one.fingerprint,
    grant_key: one.grantKey,
    asks: one.asks,
    license_keys: one.licenseKeys,
    from: one.from,
    came_at: presentDate(one.cameAt),
  };
}

function showWaiting(waiting: readonly Waiting[]): readonly string[] {
  if (waiting.length === 0) return [];
  const heading = [
    'waits for approval',
    'fingerprint',
    'grant key',
    'asks for',
    'licenses',
    'from',
    'came at',
  ];
  return [
    formatTable(
      heading,
      waiting.map((one) => Object.values(one)),
    ),
  ];
}

function runApprove({ store, words, now }: Call): unknown {
  const [hardwareId = '', fingerprint = ''] = words;
  const approved = approveKey(store, hardwareId, fingerprint, now);
  return isRefusal(approved) ? approved : presentApproved(approved);
}

type Approved = ReturnType<typeof presentApproved>;

function presentApproved({ hardwareId, fingerprint, grantKeys, waited }: ApprovedKey) {
  const key = { hardware_id: hardwareId, fingerprint, grant_keys: grantKeys };
  return { ...key, ...(waited === null ? {} : presentWaiting(waited)) };
}

function showApproved(key: Approved): string {
  const { hardware_id: id, fingerprint } = key;
  const identity = { fingerprint, 'grant key': key.grant_keys.join(', ') || 'not told' };
  const known = `Approved this key for machine "${id}".`;
  if (!('asks' in key)) return `${known}\n\n${formatFacts(identity)}`;
  const { asks, license_keys: keys, from, came_at } = key;
  const facts = { ...identity, 'asks for': asks, licenses: keys, from, 'came at': came_at };
  return `${known} Submit the file again.\n\n${formatFacts(facts)}`;
}

function runBlock({ store, words, now }: Call): unknown {
  const blocked = blockDevice(store, words[0] as string, now);
  if (isRefusal(blocked)) return blocked;
  return { hardware_id: blocked.hardwareId, blocked_at: presentDate(blocked.blockedAt) };
}

function runUnblock({ store, words, now }: Call): unknown {
  const unblocked = unblockDevice(store, words[0] as string, now);
  return isRefusal(unblocked) ? unblocked : { hardware_id: unblocked.hardwareId };
}

const DEFAULT_EVENTS = 100;
const LIMIT = { from: 1, to: 1_000_000, isWhole: true } as const;

function runEvents({ store, flags }: Call): unknown {
  const id = findId(store, flags.license);
  if (isRefusal(id)) return id;
  const limit = flags.limit === undefined ? DEFAULT_EVENTS : readAmount('limit', flags.limit, LIMIT);
  return { events: listEvents(store, id, limit).map(presentEvent) };
}

function showEvents({ events }: { events: readonly Facts[] }): string {
  if (events.length === 0) return 'No events yet.';
  const rows = events.map(({ seq: _, at, kind, license_key: key, ...facts }) => {
    const shown = Object.entries(facts).filter(([, value]) => value !== null);
    const words = shown.map(
      ([name, value]) =>
        `${name}=${typeof value === 'string' ? escapeUnprintable(value) : toPrintableJson(value)}`,
    );
    return [at, key, kind, words.join(' ')];
  });
  return formatTable(['at', 'license', 'event', ''], rows);
}
