import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cad, cadRules, ExampleLog, minute, replay } from './example-log.ts';

const ALWAYS = { during: null };
const TEAM_HAS_ONE = cadRules({ reserve: [{ slots: 1, for: 'team', line: 9, ...ALWAYS }] });
const ONE_EXT = cadRules({ limit: [{ slots: 1, of: { group: 'ext' }, line: 5, ...ALWAYS }] });

describe('the report', () => {
  test('says how much of the time reserved slots were kept free', () => {
    const log = new ExampleLog().lent(25, 't-1').returned(75, 't-1');
    const { rules } = replay(TEAM_HAS_ONE, log, { minutes: 100 });
    assert.deepEqual(rules, [
      {
        product: 'cad',
        feature: null,
        line: 9,
        text: 'reserve 1 for team',
        wouldRefuse: 0,
        unusedShare: 0.5,
      },
    ]);
  });

  test('counts no more than was free, if more is reserved than there are slots', () => {
    const reserve = [{ slots: 4, for: 'team', line: 9, ...ALWAYS }];
    const { rules } = replay(cadRules({ reserve }), new ExampleLog().lent(0, 't-1'), { minutes: 100 });
    assert.deepEqual(
      rules.map(({ unusedShare }) => unusedShare),
      [0.25],
    );
  });

  test('counts by product, group, hour and user', () => {
    const log = new ExampleLog().lent(0, 'x-1').lent(1, 'x-2').lent(70, 'x-2').lent(71, 'x-3').lent(72, 'a');
    const report = replay(ONE_EXT, log, { licenses: [cad(1, { slots: 9 })] });
    const newly = (newlyRefused: number) => ({ newlyRefused, newlyServed: 0 });
    const counts = (requests: number, refused: number) => ({
      requests,
      refused: 0,
      wouldRefuse: refused,
      ...newly(refused),
    });
    assert.deepEqual(report.products, [{ product: 'cad', ...counts(5, 3) }]);
    assert.deepEqual(report.groups, [
      { group: 'ext', ...counts(4, 3) },
      { group: '', ...counts(1, 0) },
    ]);
    assert.deepEqual(report.hours, [
      { at: minute(0), ...newly(1) },
      { at: minute(60), ...newly(2) },
    ]);
    assert.deepEqual(report.users, [
      { user: 'x-2', ...newly(2) },
      { user: 'x-3', ...newly(1) },
    ]);
    assert.deepEqual(
      report.changes.map(({ at, user, times }) => [at, user, times]),
      [
        [minute(60), 'x-3', 1],
        [minute(60), 'x-2', 1],
        [minute(0), 'x-2', 1],
      ],
    );
  });

  test('lists the hundred users for whom most changes', () => {
    const log = new ExampleLog();
    for (let index = 0; index < 102; index++) log.lent(index / 10, `x-${index}`);
    log.lent(20, 'x-101');
    const { users } = replay(cadRules({ allow: ['team'] }), log, { licenses: [cad(1, { slots: 200 })] });
    assert.deepEqual([users.length, users[0]?.user], [100, 'x-101']);
  });

  test('lists the latest thousand changes', () => {
    const log = new ExampleLog();
    for (let index = 0; index < 1003; index++) log.lent(index / 1000, `x-${index}`);
    const { changes, leftOut } = replay(cadRules({ allow: ['team'] }), log, {
      licenses: [cad(1, { slots: 2000 })],
    });
    assert.deepEqual([changes.length, changes[0]?.user, leftOut], [1000, 'x-1002', 3]);
  });
});
