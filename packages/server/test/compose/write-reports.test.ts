import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachAll, writeReports } from '../../src/compose/write-reports.ts';
import { DAY_MS, HOUR_MS, instant } from '../../src/core/nouns/instant.ts';
import type { Store } from '../../src/store/store.ts';

test('a report that is too long in bytes is left out, which the digest says', () => {
  const short = { name: 'a.csv', content: 'a' };
  // Two bytes for each character.
  const long = { name: 'b.csv', content: 'ä'.repeat(1024 * 1024 + 1) };
  assert.deepEqual(attachAll([short, long], ['c is cut.']), {
    files: [short],
    remarks: ['c is cut.', 'b.csv is too long to be attached.'],
  });
});

test('reports are about the span: slots by hours or days, users by the nearest days in UTC', async () => {
  const ask = async (since: number, until: number) => {
    const asked: { kind: string; since: number; until: number; stepMs?: number }[] = [];
    const read = async (query: (typeof asked)[number]) => {
      asked.push(query);
      return query.kind === 'list_slot_history' ? [] : { denials: [], users: [], leftOff: 0 };
    };
    await writeReports({ read } as unknown as Store, { since: instant(since), until: instant(until) });
    const [slots, denials, users] = asked;
    assert.deepEqual(
      [slots?.since, slots?.until, denials?.since, denials?.until],
      [since, until, since, until],
    );
    return [slots?.stepMs, users?.since, users?.until];
  };
  const day = Date.UTC(2030, 0, 15);
  const berlin = [day - HOUR_MS, day + 6 * DAY_MS] as const;
  assert.deepEqual(await ask(...berlin), [HOUR_MS, day, day + 6 * DAY_MS]);
  // In Auckland, on the day on which clocks go forward.
  const short = [day + 12 * HOUR_MS, day + 35 * HOUR_MS] as const;
  assert.deepEqual(await ask(...short), [HOUR_MS, day + DAY_MS, day + 2 * DAY_MS]);
  assert.deepEqual(await ask(day, day + 28 * DAY_MS), [DAY_MS, day, day + 28 * DAY_MS]);
});
