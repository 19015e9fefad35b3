import { quote } from '@berth/protocol/quote';
import { CLOCK_TOLERANCE_MS, type ClockJump } from '../clock/clock.ts';
import type { ClockJumped } from '../nouns/audit-event.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS, say } from '../nouns/instant.ts';
import type { ListedGroup } from '../rules/directory-groups.ts';
import { complain, orWell, splitAdvice, type Verdict, warn } from './finding.ts';

interface DiskFacts {
  readonly folder: string;
  /** `null`: unknown. */
  readonly space: { readonly freeMegabytes: number; readonly totalMegabytes: number } | null;
  /** The setting; 0: none. */
  readonly wantedMegabytes: number;
  /** How long syncs of a small file took; a text says why none did; `null`: nothing is synced there. */
  readonly syncsMs: readonly number[] | string | null;
}

/** With less, an upgrade, a backup or the next days of the audit log may not fit. */
const MIN_MEGABYTES = 100;
/** Every request that changes something waits for a sync; a slow disk of spinning metal needs 20 ms. */
const SLOW_SYNC_MS = 100;

export function judgeDiskHealth(facts: DiskFacts): readonly Verdict[] {
  const { folder, space, syncsMs } = facts;
  const free = space === null ? 'unknown space' : `${space.freeMegabytes} of ${space.totalMegabytes} MB free`;
  return orWell([judgeSpace(facts), judgeSyncs(folder, syncsMs)], `${free}${saySyncs(syncsMs)}`);
}

function judgeSpace({ folder, space, wantedMegabytes }: DiskFacts): Verdict | null {
  if (space === null) {
    return warn(`The free space of ${folder} is unknown.`, 'Check it with the tools of the system.');
  }
  const text = `The disk of ${folder} has only ${space.freeMegabytes} MB left.`;
  const advice = 'Free some space or enlarge the disk. When it is full, the server lends no slots.';
  if (space.freeMegabytes < MIN_MEGABYTES) return complain(text, advice);
  return space.freeMegabytes < wantedMegabytes ? warn(text, advice) : null;
}

function judgeSyncs(folder: string, syncsMs: DiskFacts['syncsMs']): Verdict | null {
  if (typeof syncsMs === 'string') {
    return complain(
      `A file in ${folder} cannot be written: ${syncsMs}`,
      'Repair the disk or its permissions. Until then, requests are answered with 503.',
    );
  }
  if (syncsMs === null || medianOf(syncsMs) < SLOW_SYNC_MS) return null;
  return warn(
    `The disk of ${folder} is slow${saySyncs(syncsMs)}.`,
    'Every request that changes something waits that long. Use a local disk, and no network folder.',
  );
}

function saySyncs(syncsMs: DiskFacts['syncsMs']): string {
  if (syncsMs === null || typeof syncsMs === 'string') return '';
  const [median, longest] = [medianOf(syncsMs), Math.max(...syncsMs)].map((ms) => ms.toFixed(1));
  return `; a sync takes ${median} ms, at most ${longest} ms`;
}

function medianOf(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

/** What others can do with a file that only the server should use. */
interface FileFacts {
  /** Explains that others can change it; `null`: they cannot. */
  readonly writable: string | null;
  readonly readable: string | null;
  /** Whether the server refuses to start with it. */
  readonly isGuarded: boolean;
}

export function judgeFiles(files: readonly FileFacts[]): readonly Verdict[] {
  const found = files.map(({ writable, readable, isGuarded }) => {
    const message = writable ?? readable;
    if (message === null) return null;
    const { text, advice } = splitAdvice(message);
    const what = advice ?? 'Remove that access.';
    return isGuarded && writable !== null ? complain(text, what) : warn(text, what);
  });
  return orWell(
    found,
    'Nobody else can read or change the data folder, the master key and the secrets in files',
  );
}

/** `problem`: why the rules file is not valid. `groups`: those whose members the directory tells. */
export function judgeRules(
  problem: string | null,
  groups: readonly ListedGroup[],
  now: Instant,
): readonly Verdict[] {
  const advice =
    'Correct it, and check it with "berth rules check". Until then a running server keeps the rules it ' +
    'had, and a stopped one may not start.';
  const found = problem === null ? null : complain(problem, advice);
  return orWell(
    [found, ...groups.map((one) => judgeGroup(one, now))],
    'The rules file is valid, or there is none',
  );
}

function judgeGroup({ group, dn, answeredAt, problem }: ListedGroup, now: Instant): Verdict | null {
  if (problem === null) return null;
  const age = sayLength(Math.max(0, now - answeredAt));
  const why = `the directory does not tell who is in ${quote(dn)}. ${problem}`;
  return warn(
    `The members of "${group}" are ${age} old: ${why}`,
    'Check auth.ldap and the name of the group. The rules go on with the members that it last told.',
  );
}

interface ClockFacts {
  /** The server's time and the wall clock; with a shared database, the database's. */
  readonly now: Instant;
  readonly wall: Instant;
  readonly jump: ClockJump | null;
  readonly jumpAtStart: ClockJumped | null;
  /** The wall clock of this machine. */
  readonly machineAt: Instant;
  /** How far the licensing cloud is ahead of this machine; `null`: unknown. */
  readonly cloudAheadMs: number | null;
  readonly hasTestClock: boolean;
}

/** Answers of the cloud and certificates still work with less. */
const MAX_OFFSET_MS = MINUTE_MS;

export function judgeClock(facts: ClockFacts): readonly Verdict[] {
  const { wall, machineAt, cloudAheadMs, hasTestClock } = facts;
  if (hasTestClock) {
    const advice = 'Applications in use need another server, started without --test-clock.';
    return [
      warn('This server is for tests: administrators move its time, which is not the real one.', advice),
    ];
  }
  return orWell(
    [
      judgeJump(facts),
      judgeOffset(wall - machineAt, 'the database'),
      judgeOffset(cloudAheadMs ?? 0, 'the licensing cloud'),
    ],
    `The server's time is the wall clock's${cloudAheadMs === null ? '' : ", and the licensing cloud's"}`,
  );
}

function judgeJump({ now, wall, jump, jumpAtStart }: ClockFacts): Verdict | null {
  if (jump?.direction === 'ahead') {
    return complain(
      `The wall clock jumped ahead to ${say(wall)} and is ignored; the server's time is ${say(now)}.`,
      'If the wall clock is right, run "berth clock accept". If not, set it right.',
    );
  }
  if (jump !== null || now - wall > CLOCK_TOLERANCE_MS) {
    return complain(
      `The server's time, ${say(now)}, is ahead of the wall clock, ${say(wall)}.`,
      'If the wall clock is right, run "berth clock reset". If not, set it right.',
    );
  }
  if (jumpAtStart === null) return null;
  return warn(
    `While the server was stopped, the wall clock went from ${say(jumpAtStart.serverAt)} to ` +
      `${say(jumpAtStart.wallAt)}.`,
    'If that is wrong, set the clock right and run "berth clock reset".',
  );
}

function judgeOffset(aheadMs: number, who: string): Verdict | null {
  if (Math.abs(aheadMs) < MAX_OFFSET_MS) return null;
  const direction = aheadMs > 0 ? 'behind' : 'ahead of';
  return warn(
    `The clock of this machine is ${sayLength(Math.abs(aheadMs))} ${direction} that of ${who}.`,
    'Keep both in step with a time server (NTP).',
  );
}

/** In the unit that fits. */
export function sayLength(ms: number): string {
  for (const [unit, length] of [
    ['days', DAY_MS],
    ['hours', HOUR_MS],
    ['minutes', MINUTE_MS],
  ] as const) {
    if (ms >= 2 * length) return `${Math.floor(ms / length)} ${unit}`;
  }
  const seconds = Math.round(ms / SECOND_MS);
  return seconds === 1 ? '1 second' : `${seconds} seconds`;
}
