import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  countPrograms,
  isAbandoned,
  joinSlot,
  leaveSlot,
  mergePrograms,
  type Programs,
} from '../../../src/core/nouns/registration.ts';

function joined(...instances: readonly (string | undefined)[]): Programs {
  const [first, ...others] = instances;
  return others.reduce((programs: Programs, one) => joinSlot(programs, one), joinSlot(undefined, first));
}

function names(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `p${index}`);
}

describe('the programs of a slot', () => {
  test('are nothing to store while none has a name', () => {
    assert.equal(joined(undefined, undefined), null);
    assert.equal(countPrograms(null), 1);
    assert.equal(leaveSlot(null, 'a'), null);
  });

  test('are counted by name, and those without one together', () => {
    assert.equal(countPrograms(joined('a')), 1);
    assert.equal(countPrograms(joined('a', 'b', 'a')), 2);
    assert.equal(countPrograms(joined('a', undefined, 'b', undefined)), 3);
    assert.equal(countPrograms(joined(undefined, 'a')), 2);
  });

  test('are the same value after a heartbeat of each of them', () => {
    const programs = joined(undefined, 'a', 'b');
    for (const instance of [undefined, 'a', 'b']) assert.equal(joinSlot(programs, instance), programs);
  });

  test('leave in any order, and are all gone at the end', () => {
    assert.ok(isAbandoned(leaveSlot(leaveSlot(joined('a', 'b'), 'a'), 'b')));
    assert.ok(isAbandoned(leaveSlot(leaveSlot(joined('a', 'b'), 'b'), 'a')));
    assert.equal(isAbandoned(leaveSlot(joined('a', 'b'), 'a')), false);
  });

  test('one that has not joined leaves nothing behind, nor does a part of a name', () => {
    const programs = joined('ab', 'c');
    for (const instance of ['a', 'b', 'x', '']) assert.equal(leaveSlot(programs, instance), programs);
  });

  test('one without a name stays, whoever leaves', () => {
    for (const programs of [joined(undefined, 'a'), joined('a', undefined)]) {
      assert.equal(leaveSlot(programs, 'a'), null);
    }
  });

  test('a thirty-third takes the place of the first, never of one without a name', () => {
    const full = joined(undefined, ...names(32));
    assert.equal(countPrograms(full), 33);
    const next = joinSlot(full, 'next');
    assert.equal(countPrograms(next), 33);
    assert.equal(leaveSlot(next, 'p0'), next);
    const rest = ['next', ...names(32)].reduce<Programs>(leaveSlot, next);
    assert.equal(rest, null);
  });

  test('of slots that become one are all of them', () => {
    assert.equal(mergePrograms([null, null]), null);
    assert.equal(countPrograms(mergePrograms([joined('a'), joined('b', 'a'), null])), 3);
  });
});
