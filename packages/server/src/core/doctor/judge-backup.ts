import { DAY_MS, type Instant, plus, say } from '../nouns/instant.ts';
import { complain, orWell, type Verdict, warn } from './finding.ts';

export interface BackupHealth {
  /** When the last backup was made, by the schedule or on request. */
  readonly lastAt: Instant | null;
  /** When the next one is due; `null`: at once, or there is no schedule. */
  readonly dueAt: Instant | null;
  /** Since when the schedule fails. */
  readonly failingAt: Instant | null;
  /** Why, if that was in this run of the server. */
  readonly error: string | null;
  /** Whether the master key is kept somewhere besides the data folder, as far as the server knows. */
  readonly isKeyKept: boolean;
}

interface BackupFacts extends BackupHealth {
  readonly isScheduled: boolean;
  readonly now: Instant;
}

/** Backups without a schedule are made by hand: after this long, the administrator is reminded. */
const OLD_DAYS = 30;

/** A backup that is due is made within minutes. */
const LATE_DAYS = 1;

export function judgeBackup(facts: BackupFacts): readonly Verdict[] {
  const { lastAt, isScheduled } = facts;
  const hint = isScheduled ? '' : '; backup.schedule makes them regularly';
  const well = lastAt === null ? '' : `The last backup was made at ${say(lastAt)}${hint}`;
  return orWell([judgeFailure(facts), judgeFirst(facts), judgeAge(facts), judgeKey(facts)], well);
}

function judgeFailure({ failingAt, error }: BackupFacts): Verdict | null {
  if (failingAt === null) return null;
  return complain(
    `The scheduled backups have failed since ${say(failingAt)}${error === null ? '.' : `: ${error}`}`,
    'See that backup.folder exists, that the server can write to it, and that its disk has room.',
  );
}

function judgeFirst({ lastAt, failingAt, isScheduled }: BackupFacts): Verdict | null {
  if (lastAt !== null || failingAt !== null) return null;
  const advice = isScheduled
    ? 'The server makes one within minutes, if it runs.'
    : 'Make one with "berth backup FILE", or set backup.schedule.';
  return warn('No backup was made yet.', advice);
}

/** A backup without the key cannot be restored when the machine is lost. */
function judgeKey({ lastAt, failingAt, isScheduled, isKeyKept }: BackupFacts): Verdict | null {
  if (isKeyKept || failingAt !== null || (lastAt === null && !isScheduled)) return null;
  return warn(
    'The master key is in no backup: if this machine is lost, the backups cannot be restored.',
    'Set backup.passphraseFile, or save the key elsewhere with "berth key export --out FILE".',
  );
}

function judgeAge({ lastAt, dueAt, failingAt, isScheduled, now }: BackupFacts): Verdict | null {
  if (failingAt !== null) return null;
  if (isScheduled && dueAt !== null && now >= plus(dueAt, LATE_DAYS * DAY_MS)) {
    return warn(
      `A backup is due since ${say(dueAt)}.`,
      'Keep the server running, or make one with "berth backup FILE".',
    );
  }
  if (isScheduled || lastAt === null || now < plus(lastAt, OLD_DAYS * DAY_MS)) return null;
  return warn(
    `The last backup was made at ${say(lastAt)}.`,
    'Make one with "berth backup FILE", or set backup.schedule.',
  );
}
