import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { listRemarks, sayExamples } from '../../src/words/remarks.ts';
import { formatChange, listAffected, listHours, type Replay, sayReplay } from '../../src/words/replay.ts';

type Change = Replay['changes'][number];

function change(user: string, hour: number, would: Change['would'], times = 1, line = 3): Change {
  const at = new Date(2026, 10, 10, hour).toISOString();
  const happened = would === 'served' ? 'refused' : 'served';
  const rule = would === 'refused' ? 'limit 2 for all' : null;
  return { at, user, product: 'cad', feature: null, groups: [], happened, would, rule, line, times };
}

function replay(changes: readonly Change[]): Replay {
  return { newly_refused: 2, newly_served: 1, changes } as unknown as Replay;
}

describe('what rules would have done', () => {
  const tried = replay([
    change('eve', 9, 'refused', 2),
    change('eve', 11, 'refused', 3),
    change('bob', 8, 'refused', 4),
    change('eve', 12, 'refused', 1, 7),
    change('fay', 10, 'served', 9),
  ]);

  test('is listed by person and line, the most frequent first, with the latest time', () => {
    const found = listAffected(tried, 'refused').map(({ user, times, line, at }) => [
      user,
      times,
      line,
      new Date(at).getHours(),
    ]);
    assert.deepEqual(found, [
      ['eve', 5, 3, 11],
      ['bob', 4, 3, 8],
      ['eve', 1, 7, 12],
    ]);
    assert.deepEqual(
      listAffected(tried, 'served').map(({ user }) => user),
      ['fay'],
    );
  });

  test('is counted by the hour of the day, from the first to the last', () => {
    const hour = (day: number, at: number, newly_refused: number, newly_served: number) => ({
      at: new Date(2026, 10, day, at).toISOString(),
      newly_refused,
      newly_served,
    });
    const hours = [hour(9, 8, 4, 0), hour(9, 10, 1, 2), hour(10, 8, 3, 1)];
    assert.deepEqual(
      listHours({ ...tried, hours }).map((one) => [one.hour, one.refused, one.served]),
      [
        [8, 7, 1],
        [9, 0, 0],
        [10, 1, 2],
      ],
    );
    assert.deepEqual(listHours({ ...tried, hours: [] }), []);
  });

  test('is said in a sentence', () => {
    assert.equal(sayReplay(tried), '1 request served instead of refused, 2 refused instead of served.');
    const same = { ...tried, newly_refused: 0, newly_served: 0 };
    assert.equal(sayReplay(same), 'Every request would have had the same answer.');
    assert.deepEqual([3, 0, -1200].map(formatChange), ['+3', '0', '−1,200']);
  });
});

describe('what is said about a text', () => {
  const place = { line: 1, column: 1, message: 'm' };

  test('begins with what keeps it from being applied', () => {
    const remarks = listRemarks({
      warnings: [{ ...place, message: 'warning' }],
      expectations: [
        { ...place, message: 'fine', ok: true },
        { ...place, message: 'example', ok: false },
      ],
      errors: [{ ...place, message: 'error' }],
    });
    assert.deepEqual(
      remarks.map(({ level, message }) => `${level} ${message}`),
      ['critical error', 'critical example', 'warning warning'],
    );
  });

  test('counts the examples that hold', () => {
    const say = (...held: readonly boolean[]) =>
      sayExamples({ errors: [], warnings: [], expectations: held.map((ok) => ({ ...place, ok })) });
    assert.deepEqual(
      [say(), say(true), say(false), say(true, true), say(true, false)],
      ['', 'The example holds', 'The example does not hold', 'All 2 examples hold', '1 of 2 examples hold'],
    );
  });
});
