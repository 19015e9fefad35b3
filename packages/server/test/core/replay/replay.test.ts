import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Feature } from '../../../src/core/nouns/feature.ts';
import { NO_NAMES } from '../../../src/core/rules/rule-set.ts';
import { cad, cadRules, ExampleLog, minute, replay } from './example-log.ts';

const ALWAYS = { during: null };
const TEAM_HAS_ONE = cadRules({ reserve: [{ slots: 1, for: 'team', line: 9, ...ALWAYS }] });
const ONE_EXT = cadRules({ limit: [{ slots: 1, of: { group: 'ext' }, line: 5, ...ALWAYS }] });

describe('a request that was served', () => {
  test('is left out if the rules refuse it, and so is its end', () => {
    const log = new ExampleLog()
      .lent(0, 'x-1')
      .lent(1, 'x-2')
      .returned(2, 'x-2')
      .lent(3, 'x-3')
      .returned(4, 'x-1')
      .lent(5, 'x-4');
    const { answers, rules, ...counts } = replay(ONE_EXT, log, { licenses: [cad(1, { slots: 9 })] });
    assert.deepEqual(answers, [
      'x-1 served → served',
      'x-2 served → limit 1 for ext',
      'x-3 served → limit 1 for ext',
      'x-4 served → served',
    ]);
    assert.deepEqual(rules, [
      { product: 'cad', feature: null, line: 5, text: 'limit 1 for ext', wouldRefuse: 2, unusedShare: null },
    ]);
    const { requests, refused, wouldRefuse, newlyRefused, newlyServed } = counts;
    assert.deepEqual([requests, refused, wouldRefuse, newlyRefused, newlyServed], [4, 0, 2, 2, 0]);
  });

  test('is refused if what is free is reserved, and the member gets it', () => {
    const log = new ExampleLog().lent(0, 'a').lent(1, 'b').returned(2, 'b').lent(3, 't-1');
    const { answers } = replay(TEAM_HAS_ONE, log);
    assert.deepEqual(answers, ['a served → served', 'b served → reserve 1 for team', 't-1 served → served']);
  });

  test('is refused by deny and by allow, which come first', () => {
    const log = new ExampleLog().lent(0, 't-1').lent(1, 'x-1').lent(2, 'x-2');
    const own = { allow: ['team', 'ext'], deny: { ...NO_NAMES, users: ['x-2'] } };
    const { answers } = replay(cadRules(own), log.lent(3, 'a'), { licenses: [cad(1, { slots: 9 })] });
    assert.deepEqual(answers, [
      't-1 served → served',
      'x-1 served → served',
      'x-2 served → deny by user',
      'a served → allow team, ext',
    ]);
  });

  test('is judged by the host and the address that it came from', () => {
    const limit = [
      { slots: 1, of: { each: 'host' as const }, line: 1, ...ALWAYS },
      { slots: 1, of: { group: 'lab' }, line: 2, ...ALWAYS },
    ];
    const log = new ExampleLog()
      .lent(0, 'a', { hostname: 'ws-1' })
      .lent(1, 'b', { hostname: 'WS-1' })
      .lent(2, 'c', { hostname: 'lab-1' })
      .lent(3, 'd', { hostname: 'lab-2' });
    const { answers } = replay(cadRules({ limit }), log, { licenses: [cad(1, { slots: 9 })] });
    assert.deepEqual(answers, [
      'a served → served',
      'b served → limit 1 for each host',
      'c served → served',
      'd served → limit 1 for lab',
    ]);
  });

  test('is judged by the rules of its hour', () => {
    const times = { office: { days: [2], from: 8 * 60, to: 9 * 60, zone: 'UTC' } };
    const limit = [{ slots: 1, of: { group: 'ext' }, line: 1, during: 'office' }];
    const log = new ExampleLog().lent(0, 'x-1').lent(59, 'x-2').lent(60, 'x-3');
    const { answers } = replay(cadRules({ limit }, { times }), log, { licenses: [cad(1, { slots: 9 })] });
    assert.deepEqual(answers, [
      'x-1 served → served',
      'x-2 served → limit 1 for ext during office',
      'x-3 served → served',
    ]);
  });
});

describe('a request that was refused', () => {
  /** Slots are held for ten minutes: that is the median. */
  function withMedian(log = new ExampleLog()): ExampleLog {
    return log.lent(-30, 'm').returned(0, 'm').lent(0, 'n').returned(10, 'n');
  }

  test('and would be served holds a slot for the median', () => {
    const log = withMedian().lent(20, 'x-1').lent(20, 'x-2').denied(21, 'a').denied(30, 'b').denied(31, 'c');
    const { answers, newlyServed } = replay(ONE_EXT, log);
    assert.deepEqual(answers.slice(1), [
      'x-1 served → served',
      'x-2 served → limit 1 for ext',
      'a refused → served',
      'b refused → full',
      'c refused → served',
    ]);
    assert.equal(newlyServed, 2);
  });

  test('counts once however often it is repeated within that time', () => {
    const log = withMedian().lent(20, 'a').lent(20, 'b');
    log.denied(21, 'c').denied(25, 'c').denied(30, 'c').denied(31, 'c').denied(31, 'd');
    const { answers } = replay(cadRules({}), log);
    assert.deepEqual(answers.slice(3), ['c refused → full', 'c refused → full', 'd refused → full']);
  });

  test('and is served before the log says so keeps that slot', () => {
    const log = withMedian()
      .lent(20, 'x-1')
      .lent(20, 'x-2')
      .denied(21, 'a')
      .returned(22, 'x-1')
      .lent(23, 'a');
    const { answers } = replay(ONE_EXT, log.lent(40, 'c').lent(41, 'd').returned(42, 'a').lent(43, 'e'));
    assert.deepEqual(answers.slice(3), [
      'a refused → served',
      'a served → served',
      'c served → served',
      'd served → full',
      'e served → served',
    ]);
  });

  test('is a renewal if its user holds a slot, and takes no other', () => {
    const denied = { code: 'blacklisted', rule: 'deny by user' } as const;
    const log = new ExampleLog().lent(0, 'a').denied(1, 'a', denied).lent(2, 'b').returned(3, 'a');
    const { answers } = replay(cadRules({}), log.lent(7, 'c').lent(8, 'd'));
    assert.deepEqual(answers.slice(1), [
      'a refused → served',
      'b served → served',
      'c served → served',
      'd served → full',
    ]);
  });

  test('stays refused by the license, by a bar, and for a borrow', () => {
    const log = new ExampleLog()
      .denied(0, 'a', { code: 'license_expired' })
      .denied(0, 'b', { code: 'blacklisted', barredBy: 'bar' })
      .denied(0, 'c', { code: 'license_borrow_not_allowed' })
      .denied(0, 'd', { code: 'blacklisted', barredBy: 'rules_file' });
    const { answers, refused, wouldRefuse } = replay(cadRules({}), log);
    assert.deepEqual(answers, [
      'a refused → full',
      'b refused → full',
      'c refused → full',
      'd refused → served',
    ]);
    assert.deepEqual([refused, wouldRefuse], [4, 3]);
  });

  test('is judged by the host that it named', () => {
    const log = new ExampleLog().denied(0, 'a', { hostname: 'lab-1' }).denied(0, 'b');
    const { answers } = replay(cadRules({ allow: ['lab'] }), log);
    assert.deepEqual(answers, ['a refused → served', 'b refused → allow lab']);
  });
});

describe('several licenses of a product', () => {
  const licenses = [cad(2, { slots: 1 }), cad(1, { slots: 1 })];

  test('are judged together', () => {
    const log = new ExampleLog().lent(0, 'a', { chain: 1 }).lent(1, 'b', { chain: 2 });
    assert.deepEqual(replay(TEAM_HAS_ONE, log, { licenses }).answers, [
      'a served → served',
      'b served → reserve 1 for team',
    ]);
  });

  test('stand in for each other when one is full', () => {
    const log = new ExampleLog()
      .lent(0, 'x-1', { chain: 2 })
      .lent(0, 'x-2', { chain: 1 })
      .denied(1, 'a', { chain: 2 })
      .returned(1.5, 'x-1', { chain: 2 })
      .returned(1.5, 'x-2', { chain: 1 })
      .lent(1.6, 'b', { chain: 2 })
      .lent(1.7, 'c', { chain: 1 });
    assert.deepEqual(replay(ONE_EXT, log, { licenses }).answers.slice(2), [
      'a refused → served',
      'b served → served',
      'c served → full',
    ]);
  });

  test('do not stand in for one that a request named', () => {
    const log = new ExampleLog()
      .lent(0, 'x-1', { chain: 2 })
      .lent(0, 'x-2', { chain: 1 })
      .denied(1, 'a', { chain: 1 })
      .denied(1, 'b', { chain: 1 })
      .returned(1.1, 'x-2', { chain: 1 })
      .returned(1.1, 'x-1', { chain: 2 })
      .lent(1.2, 'c', { chain: 1 });
    assert.deepEqual(replay(ONE_EXT, log, { licenses }).answers.slice(2), [
      'a refused → served',
      'b refused → full',
      'c served → full',
    ]);
  });

  test('do not stand in for one that was named by somebody whom the rules have lent another', () => {
    const two = [cad(2, { slots: 1 }), cad(1, { slots: 1 })];
    const log = new ExampleLog()
      .lent(0, 'x-1', { chain: 1 })
      .lent(0, 'x-2', { chain: 2 })
      .denied(1, 'a', { chain: 2 })
      .returned(1.1, 'x-1', { chain: 1 })
      .returned(1.2, 'x-2', { chain: 2 })
      .lent(1.3, 'a', { chain: 1 })
      .lent(1.4, 'b', { chain: 2 });
    assert.deepEqual(replay(ONE_EXT, log, { licenses: two }).answers, [
      'x-1 served → served',
      'x-2 served → limit 1 for ext',
      'a refused → served',
      'a served → served',
      'b served → full',
    ]);
  });

  test('count only while the server has them', () => {
    const log = new ExampleLog()
      .lent(0, 'x-1', { chain: 2 })
      .add(1, { kind: 'license_removed', product: 'cad', inUse: 1 }, 2)
      .lent(2, 'x-2', { chain: 1 });
    assert.deepEqual(replay(ONE_EXT, log, { licenses: [cad(1, { slots: 1 })] }).answers, [
      'x-1 served → served',
      'x-2 served → served',
    ]);
  });

  test('have the slots of their time', () => {
    const log = new ExampleLog()
      .lent(0, 'a')
      .add(5, { kind: 'license_changed', changed: ['slots'], slots: 2 })
      .lent(6, 'b')
      .add(7, { kind: 'license_changed', changed: ['enabled'], slots: 2 })
      .denied(8, 'c')
      .add(70, { kind: 'license_changed', changed: ['enabled'], slots: 2 });
    log.links.unshift({
      chain: 1,
      at: minute(-5),
      events: [{ kind: 'license_added', product: 'cad', slots: 1, by: 'x' }],
    });
    assert.deepEqual(replay(TEAM_HAS_ONE, log).answers, [
      'a served → reserve 1 for team',
      'b served → served',
      'c refused → full',
    ]);
  });
});

test('a slot is free from its end on, not from when that is noticed', () => {
  const licenses = [cad(2, { slots: 1 }), cad(1, { slots: 1 })];
  for (const at of [10.5, 10]) {
    const log = new ExampleLog()
      .lent(0, 'x-1', { chain: 1 })
      .lent(at, 'x-2', { chain: 2 })
      .add(11, { kind: 'slot_expired', user: 'x-1', endedAt: minute(10) }, 1);
    const { answers } = replay(ONE_EXT, log, { licenses });
    assert.deepEqual(answers, ['x-1 served → served', 'x-2 served → served']);
  }
});

describe('features', () => {
  const feature = {
    ...(cad(1).features[0] as Feature),
    code: 'render',
    floating: { slots: 2, timeoutMinutes: 9, canBorrow: false, maxBorrowHours: 0 },
  };
  const licenses = [cad(2, { slots: 9, features: [feature] }), cad(1, { slots: 9, features: [feature] })];
  const render = { allow: null, deny: NO_NAMES, reserve: [], limit: [] };
  const take = (log: ExampleLog, at: number, user: string, chain: number) =>
    log.lent(at, user, { chain }).add(at, { kind: 'feature_lent', feature: 'render', user }, chain);

  test('are reserved on each license by itself', () => {
    const reserve = [{ slots: 1, for: 'team', line: 3, ...ALWAYS }];
    const rules = cadRules({ features: { render: { ...render, reserve } } });
    const log = new ExampleLog();
    take(log, 0, 't-1', 1);
    take(log, 1, 'a', 1);
    take(log, 2, 'b', 2);
    take(log, 3, 'c', 2);
    assert.deepEqual(
      replay(rules, log, { licenses }).answers.filter((_, index) => index % 2 === 1),
      ['t-1 served → served', 'a served → served', 'b served → served', 'c served → reserve 1 for team'],
    );
  });

  test('are limited on all licenses together, and end with the slot', () => {
    const limit = [{ slots: 1, of: { group: 'ext' }, line: 3, ...ALWAYS }];
    const rules = cadRules({ features: { render: { ...render, limit } } });
    const log = new ExampleLog();
    take(log, 0, 'x-1', 1);
    take(log, 1, 'x-2', 2);
    log.returned(2, 'x-1', { chain: 1 });
    take(log, 3, 'x-3', 2);
    assert.deepEqual(
      replay(rules, log, { licenses }).answers.filter((_, index) => index % 2 === 1),
      ['x-1 served → served', 'x-2 served → limit 1 for ext', 'x-3 served → served'],
    );
  });

  test('are left out with the slot of their user', () => {
    const log = new ExampleLog();
    take(log, 0, 'x-1', 1);
    take(log, 1, 'x-2', 1);
    assert.deepEqual(replay(ONE_EXT, log, { licenses }).answers, [
      'x-1 served → served',
      'x-1 served → served',
      'x-2 served → limit 1 for ext',
    ]);
  });

  test('that were refused and would be served last as long as others', () => {
    const limit = [{ slots: 1, of: { group: 'ext' }, line: 3, ...ALWAYS }];
    const rules = cadRules({ features: { render: { ...render, limit } } });
    const log = new ExampleLog();
    take(log, 0, 'x-1', 1);
    take(log, 0, 'x-2', 1);
    const returned = (at: number, user: string) =>
      log.add(at, { kind: 'feature_returned', feature: 'render', user });
    log.lent(1, 'a').lent(1, 'b').lent(1, 'c');
    log.denied(1, 'a', { feature: 'render' }).denied(2, 'b', { feature: 'render' });
    returned(10, 'x-1');
    returned(10, 'x-2');
    take(log, 10.5, 'c', 1);
    take(log, 10.6, 'd', 1);
    const { answers } = replay(rules, log, { licenses });
    assert.deepEqual(answers.slice(6), [
      'c served → served',
      'a refused → served',
      'b refused → full',
      'c served → served',
      'c served → served',
      'd served → served',
      'd served → full',
    ]);
  });

  test('are renewed by those who hold them', () => {
    const limit = [{ slots: 1, of: { group: 'ext' }, line: 3, ...ALWAYS }];
    const rules = cadRules({ features: { render: { ...render, limit } } });
    const log = new ExampleLog();
    take(log, 0, 'x-1', 1);
    log.denied(1, 'x-1', { feature: 'render', code: 'blacklisted', rule: 'deny by user' });
    take(log, 9, 'x-2', 1);
    const { answers } = replay(rules, log, { licenses });
    assert.deepEqual(answers.slice(2), [
      'x-1 refused → served',
      'x-2 served → served',
      'x-2 served → limit 1 for ext',
    ]);
  });

  test('are refused by the place from which they are asked for', () => {
    const deny = { ...NO_NAMES, addresses: ['10.0.0.9'] };
    const rules = cadRules({ features: { render: { ...render, deny } } });
    const log = new ExampleLog().lent(0, 'a');
    log.add(1, { kind: 'feature_lent', feature: 'render', user: 'a', origin: '10.0.0.9' });
    log.denied(2, 'a', { feature: 'render', origin: '10.0.0.9' });
    assert.deepEqual(replay(rules, log, { licenses }).answers.slice(1), [
      'a served → deny by address',
      'a refused → deny by address',
    ]);
  });

  test('that the rules lend sooner than the log are held as long as in the log', () => {
    const log = new ExampleLog().lent(0, 'x-1').lent(0, 'x-2').lent(0, 'a').lent(0, 'b');
    log.add(0, { kind: 'feature_lent', feature: 'render', user: 'x-2' });
    log.denied(1, 'a', { feature: 'render' });
    for (const user of ['a', 'b']) log.add(1.5, { kind: 'feature_lent', feature: 'render', user });
    log.denied(9, 'x-1', { feature: 'render' });
    assert.deepEqual(replay(ONE_EXT, log, { licenses }).answers.slice(4), [
      'a refused → served',
      'a served → served',
      'b served → served',
      'x-1 refused → full',
    ]);
  });

  test('that only the rules have lent are released with all others of the license', () => {
    const log = new ExampleLog().lent(0, 'x-1').lent(0, 'x-2').lent(0, 'm').returned(30, 'm');
    log.denied(1, 'a').denied(2, 'a', { feature: 'render' });
    log.add(2.5, { kind: 'all_features_returned', count: 2 }).lent(2.6, 'b').lent(2.6, 'c');
    for (const user of ['b', 'c']) log.add(2.7, { kind: 'feature_lent', feature: 'render', user });
    const small = [cad(1, { slots: 9, features: [feature] })];
    assert.deepEqual(replay(ONE_EXT, log, { licenses: small }).answers.slice(3), [
      'a refused → served',
      'a refused → served',
      'b served → served',
      'c served → served',
      'b served → served',
      'c served → served',
    ]);
  });
});
