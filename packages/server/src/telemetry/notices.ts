import { formatTimestamp } from '@berth/protocol/timestamp';
import type { ClockJumped } from '../core/nouns/audit-event.ts';
import type { StoreNotice } from '../core/nouns/store-notice.ts';
import type { Log } from './log.ts';

/** Logs what the store noticed, and what the administrator can do about it. */
export function describeNotice(log: Log, notice: StoreNotice): void {
  switch (notice.kind) {
    case 'clock_jumped':
      describeJump(log, notice);
      break;
    case 'clock_agrees':
      log.info(
        { serverAt: formatTimestamp(notice.serverAt) },
        "the wall clock agrees with the server's time again",
      );
      break;
    case 'clock_taken_over':
      log.warn(
        { from: formatTimestamp(notice.from), to: formatTimestamp(notice.to) },
        'the wall clock stayed ahead for 24 hours and is now accepted; slots got a new timeout',
      );
      break;
    case 'server_paused':
      log.warn(
        { from: formatTimestamp(notice.from), to: formatTimestamp(notice.to) },
        'the server was paused; slots that were live then got a new timeout',
      );
      break;
    case 'heads_signed':
      log.info({ links: notice.links, digest: notice.digest }, 'the audit log was signed');
      break;
    case 'anchor_lost':
      log.error('the audit log was changed outside the server; run "berth audit verify"');
      break;
    case 'log_damaged':
      describeDamage(log, notice.isLost);
      break;
    case 'sums_damaged':
      log.error(
        'berth.db-sums was damaged and is made anew: whether berth.db has changed, too, is not known',
      );
      break;
    case 'pages_changed':
      log.error(
        { pages: notice.pages },
        'berth.db is not as the server wrote it: the disk has failed, or another program has changed it; ' +
          'restore a backup, or stop the server and delete berth.db-sums to accept it',
      );
      break;
    case 'commit_failed':
      log.error(
        { error: notice.error },
        'the data cannot be written; requests get a 503 until the store works again',
      );
      break;
    case 'store_recovered':
      log.info('the store works again');
      break;
    case 'database_moved':
      describeMove(log, notice);
      break;
    case 'two_primaries':
      log.error(
        { host: notice.inUse, other: notice.other },
        'two hosts of the database can be written, and other servers may use the other; stop the old primary',
      );
      break;
    case 'store_lost':
      log.error({ error: notice.error }, 'the store is lost');
      break;
  }
}

function describeDamage(log: Log, isLost: boolean): void {
  if (isLost) log.error('berth.db-wal was damaged: commits in it are lost, and may have been answered');
  else
    log.warn(
      'the last commit in berth.db-wal was not complete and is lost; if the server was not interrupted ' +
        'while it wrote, the disk has failed',
    );
}

function describeMove(log: Log, { host, lost }: Extract<StoreNotice, { kind: 'database_moved' }>): void {
  if (lost === 0) log.warn({ host }, 'the database has moved, and has everything that this server stored');
  else if (lost === null)
    log.error(
      { host },
      'the database has moved; whether it lacks acknowledged changes could not be found out',
    );
  else
    log.error(
      { host, licenses: lost },
      'the database has moved and lacks changes that were acknowledged: its standby was behind; ' +
        'see docs/postgresql.md',
    );
}

function describeJump(log: Log, jump: ClockJumped): void {
  const facts = { server: formatTimestamp(jump.serverAt), wall: formatTimestamp(jump.wallAt) };
  if (jump.followed) {
    log.warn(
      facts,
      'the clock is far ahead of the last run; if it is wrong, correct it and run "berth clock reset"',
    );
  } else if (jump.direction === 'ahead') {
    log.warn(facts, 'the wall clock jumped ahead and is ignored; if it is correct, run "berth clock accept"');
  } else {
    log.warn(facts, "the wall clock was set back; the server's time continues without it");
  }
}
