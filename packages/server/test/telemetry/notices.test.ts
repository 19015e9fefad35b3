import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import { instant } from '../../src/core/nouns/instant.ts';
import type { StoreNotice } from '../../src/core/nouns/store-notice.ts';
import { describeNotice } from '../../src/telemetry/notices.ts';

const [EARLY, LATE] = [instant(Date.UTC(2030, 0, 1)), instant(Date.UTC(2030, 0, 3))];
const jump = { kind: 'clock_jumped', serverAt: EARLY, wallAt: LATE } as const;

/** Each notice with its level, words of its sentence and the facts it must name. */
const NOTICES: readonly (readonly [StoreNotice, string, RegExp, readonly string[]])[] = [
  [{ ...jump, direction: 'ahead', followed: false }, 'warn', /berth clock accept/, ['2030-01-03T00']],
  [{ ...jump, direction: 'ahead', followed: true }, 'warn', /berth clock reset/, ['2030-01-01T00']],
  [{ ...jump, direction: 'behind', followed: false }, 'warn', /set back/, ['2030-01-03T00']],
  [{ kind: 'clock_agrees', serverAt: EARLY }, 'info', /agrees/, ['2030-01-01T00']],
  [{ kind: 'clock_taken_over', from: EARLY, to: LATE }, 'warn', /24 hours/, ['2030-01-01T00']],
  [{ kind: 'server_paused', from: EARLY, to: LATE }, 'warn', /paused/, ['2030-01-01T00', '2030-01-03T00']],
  [{ kind: 'heads_signed', links: 17, digest: 'abc' }, 'info', /signed/, ['17', 'abc']],
  [{ kind: 'anchor_lost' }, 'error', /berth audit verify/, []],
  [{ kind: 'log_damaged', isLost: true }, 'error', /berth\.db-wal .* lost/, []],
  [{ kind: 'log_damaged', isLost: false }, 'warn', /last commit .* not complete/, []],
  [{ kind: 'sums_damaged' }, 'error', /made anew/, []],
  [{ kind: 'pages_changed', pages: 'page 7' }, 'error', /delete berth\.db-sums/, ['page 7']],
  [{ kind: 'commit_failed', error: 'disk full' }, 'error', /503/, ['disk full']],
  [{ kind: 'store_recovered' }, 'info', /works again/, []],
  [{ kind: 'database_moved', host: 'db2:5432', lost: 0 }, 'warn', /has everything/, ['db2:5432']],
  [{ kind: 'database_moved', host: 'db2:5432', lost: 7 }, 'error', /lacks changes/, ['db2:5432', '7']],
  [{ kind: 'two_primaries', inUse: 'b:1', other: 'a:1' }, 'error', /stop the old primary/, ['b:1', 'a:1']],
  [{ kind: 'store_lost', error: 'thread died' }, 'error', /lost/, ['thread died']],
];

describe('what the store notices is logged', () => {
  for (const [notice, level, sentence, facts] of NOTICES) {
    test(JSON.stringify(notice), () => {
      const lines: string[] = [];
      const labels = { level: (label: string) => ({ level: label }) };
      const log = pino({ level: 'debug', formatters: labels }, { write: (line) => lines.push(line) });
      describeNotice(log, notice);
      assert.equal(lines.length, 1);
      const line = JSON.parse(lines[0] as string) as Record<string, string>;
      assert.equal(line.level, level);
      assert.match(line.msg as string, sentence);
      for (const fact of facts) assert.ok(lines[0]?.includes(fact), fact);
    });
  }
});
