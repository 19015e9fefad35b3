import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Waits } from '@berth/protocol/admin/history';
import type { License } from '@berth/protocol/admin/licenses';
import {
  groupLine,
  listLines,
  sayLineNote,
  sayWait,
  sayWhy,
  type WaitingUser,
} from '../../src/words/line.ts';

function waiting(facts: Partial<WaitingUser> = {}): WaitingUser {
  return {
    ...{ product: 'cad', feature: null, user: 'ada', os_hostname: null, address: null, position: 1 },
    ...{ since: '2026-11-17T10:00:00.000Z', waited_seconds: 5, is_connected: true },
    ...{ why: 'full', rule: null },
    ...facts,
  };
}

function license(id: number, product: string, used: number): License {
  const render = { code: 'render', floating_users: 4, floating_in_use_devices: used };
  const facts = { id, product, floating_users: 10, floating_in_use: used, product_features: [render] };
  return facts as unknown as License;
}

describe('the line', () => {
  test('says how long users waited before', () => {
    const waits = { feature: null, median_ms: 4000, p90_ms: 120_000 } as Waits;
    const before = 'in the last 30 days half of those who got a slot waited up to 4 s, 9 of 10 up to 2 min';
    assert.equal(sayLineNote(3, [waits]), `3 in line; ${before}`);
    for (const other of [
      { ...waits, feature: 'render' },
      { ...waits, median_ms: null },
    ])
      assert.equal(sayLineNote(3, [other]), '3 in line');
  });

  test('is summed up by product, the longest wait first', () => {
    const line = [
      waiting(),
      waiting({ feature: 'render', waited_seconds: 70 }),
      waiting({ product: 'pcb', waited_seconds: 600 }),
      waiting({ product: 'gone', waited_seconds: 1 }),
    ];
    const found = listLines(line, [license(1, 'cad', 0), license(2, 'cad', 0), license(3, 'pcb', 0)]);
    assert.deepEqual(
      found.map((one) => [one.product, one.license?.id, one.waiting, one.longestSeconds]),
      [
        ['pcb', 3, 1, 600],
        ['cad', 1, 2, 70],
        ['gone', undefined, 1, 1],
      ],
    );
  });

  test('says why somebody waits', () => {
    const full = [license(1, 'cad', 10), license(2, 'cad', 10), license(3, 'pcb', 0)];
    assert.deepEqual(sayWhy(waiting(), full), ['Full', 'All 20 slots are in use']);
    assert.deepEqual(sayWhy(waiting(), [license(1, 'cad', 9)]), ['Full', '']);
    assert.deepEqual(sayWhy(waiting(), []), ['Full', '']);
    const feature = waiting({ feature: 'render' });
    assert.deepEqual(sayWhy(feature, [license(1, 'cad', 4)]), ['Full', 'All 4 slots are in use']);
    const reserved = waiting({ why: 'reserved', rule: 'reserve 4 for team' });
    assert.deepEqual(sayWhy(reserved, full), ['Reserved', 'Rule: reserve 4 for team']);
    assert.deepEqual(sayWhy(waiting({ why: 'limit' }), full), ['Limit', '']);
  });

  test('says how long somebody waits', () => {
    assert.deepEqual([0, 59, 60, 7200].map(sayWait), ['0 s', '59 s', '1 min', '2 hours']);
  });

  test('is grouped by reason when many wait', () => {
    const few = Array.from({ length: 49 }, (_, index) => waiting({ why: index === 0 ? 'limit' : 'full' }));
    assert.deepEqual(groupLine(few), [{ title: null, line: few }]);
    const alike = Array.from({ length: 50 }, () => waiting());
    assert.deepEqual(groupLine(alike), [{ title: null, line: alike }]);
    const many = [...few, waiting({ position: 50 })];
    assert.deepEqual(
      groupLine(many).map(({ title, line }) => [title, line.length]),
      [
        ['Full', 49],
        ['Limit', 1],
      ],
    );
  });
});
