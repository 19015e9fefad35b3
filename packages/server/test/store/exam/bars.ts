import assert from 'node:assert/strict';
import type { BarKind } from '../../../src/core/nouns/bar.ts';
import { HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { denying, inForce, NOW, register } from '../../core/examples.ts';
import { codeOf, type ExamStore } from './exam-store.ts';
import { deny } from './rules.ts';

const BY = 'admin';

export function bar(exam: ExamStore, pattern: string, kind: BarKind = 'user', note: string | null = null) {
  return exam.execute({ kind: 'add_bar', bar: { kind, pattern, note }, by: BY });
}

export function unbar(exam: ExamStore, pattern: string, kind: BarKind = 'user') {
  return exam.execute({ kind: 'remove_bar', bar: { kind, pattern }, by: BY });
}

async function ask(exam: ExamStore, user: string, hostname: string | null = null, from = '192.0.2.1') {
  const asked = register(user, {}, { hostname, address: null, info: null });
  return codeOf(await exam.execute({ ...asked, by: { name: 'client', address: from } }));
}

function listBars(exam: ExamStore) {
  return exam.store.read({ kind: 'list_bars' });
}

/** What administrators bar by a command, besides the rules file. */
export const BARS = {
  'barred users, hosts and addresses get no slot, and others do': async (exam: ExamStore) => {
    await exam.install({ slots: 100 });
    await bar(exam, 'Fay');
    await bar(exam, 'lab-*', 'host');
    await bar(exam, '10.1.0.0/16', 'address');
    assert.equal(await ask(exam, 'fay'), 'blacklisted');
    assert.equal(await ask(exam, 'a', 'LAB-3'), 'blacklisted');
    assert.equal(await ask(exam, 'b', null, '10.1.2.3'), 'blacklisted');
    assert.equal(await ask(exam, 'c', 'lab', '10.2.0.1'), 'granted');
    assert.deepEqual(await exam.listUsers(), ['c']);
  },

  'bars and the rules file do not affect each other': async (exam: ExamStore) => {
    await exam.install({ slots: 100 });
    await bar(exam, 'fay');
    await deny(exam, { users: ['eve'] });
    for (const user of ['eve', 'fay']) assert.equal(await ask(exam, user), 'blacklisted');
    await deny(exam, {});
    assert.equal(await ask(exam, 'eve'), 'granted');
    assert.equal(await ask(exam, 'fay'), 'blacklisted', 'the file does not lift a bar');
    await deny(exam, { users: ['fay'] });
    await unbar(exam, 'fay');
    assert.equal(await ask(exam, 'fay'), 'blacklisted', 'a command does not change the file');
    await deny(exam, {});
    assert.equal(await ask(exam, 'fay'), 'granted');
    const { rules } = await exam.store.read({ kind: 'find_rules' });
    assert.deepEqual(rules, { ...inForce(denying({})), revision: 4 });
  },

  'the log tells which of the two barred somebody': async (exam: ExamStore) => {
    const license = await exam.install();
    await bar(exam, 'fay');
    await bar(exam, 'lab', 'host');
    await deny(exam, { users: ['eve'] });
    const refusal = await exam.register('fay');
    await ask(exam, 'eve');
    await ask(exam, 'ann', 'lab');
    const denials = await exam.listEventsOf('slot_denied', license.id);
    assert.deepEqual(denials.map(({ user, barred, barredBy }) => [user, barred, barredBy]).toSorted(), [
      ['ann', 'host', 'bar'],
      ['eve', 'user', 'rules_file'],
      ['fay', 'user', 'bar'],
    ]);
    assert.ok(refusal.kind === 'refused');
    assert.deepEqual(refusal.details, { barred: 'user' }, 'clients are not told');
  },

  'a barred user keeps the slot to its end, and may return it': async (exam: ExamStore) => {
    await exam.install({ slots: 3 });
    await exam.register('fay');
    await exam.register('fred');
    await bar(exam, 'f*');
    assert.equal(codeOf(await exam.register('fay')), 'blacklisted');
    assert.deepEqual(await exam.listUsers(), ['fay', 'fred']);
    assert.equal(codeOf(await exam.unregister('fay')), 'done');
    exam.clock.advance(10 * MINUTE_MS);
    assert.deepEqual(await exam.listUsers(), []);
  },

  'the same bar again changes nothing, however it is written': async (exam: ExamStore) => {
    await bar(exam, 'Fay', 'user', 'left the company');
    await bar(exam, '10.1.2.3/16', 'address');
    exam.clock.advance(1);
    for (const [pattern, kind, note] of [
      ['FAY', 'user', null],
      [' fay ', 'user', 'left the company'],
      ['10.1.0.0/16', 'address', null],
    ] as const) {
      assert.deepEqual(await bar(exam, pattern, kind, note), { kind: 'done', count: 0 });
    }
    assert.deepEqual(await listBars(exam), [
      { kind: 'address', pattern: '10.1.2.3/16', note: null, by: BY, at: NOW },
      { kind: 'user', pattern: 'Fay', note: 'left the company', by: BY, at: NOW },
    ]);
    assert.deepEqual(await bar(exam, 'fay', 'user', 'is back in May'), { kind: 'done', count: 1 });
    assert.deepEqual((await listBars(exam)).at(1), {
      ...{ kind: 'user', pattern: 'Fay', note: 'is back in May', by: BY },
      at: plus(NOW, 1),
    });
    assert.deepEqual(await unbar(exam, 'fay', 'host'), { kind: 'done', count: 0 });
    assert.deepEqual(await unbar(exam, 'FAY'), { kind: 'done', count: 1 });
    assert.deepEqual(await unbar(exam, 'FAY'), { kind: 'done', count: 0 });
    assert.deepEqual(
      (await exam.listEventsOf('bar_added', 'system')).map(({ pattern, note }) => [pattern, note]),
      [
        ['Fay', 'left the company'],
        ['10.1.2.3/16', null],
        ['Fay', 'is back in May'],
      ],
    );
    const removed = await exam.listEventsOf('bar_removed', 'system');
    assert.deepEqual(removed, [{ kind: 'bar_removed', barred: 'user', pattern: 'Fay', by: BY }]);
  },

  'a bar that cannot be recorded is not set, and affects no other command': async (exam: ExamStore) => {
    await exam.install();
    const broken = { kind: 'user', pattern: 'ada', note: 10n as unknown as string } as const;
    await assert.rejects(exam.execute({ kind: 'add_bar', bar: broken, by: BY }));
    assert.equal(codeOf(await exam.register('ada')), 'granted');
    assert.deepEqual(await listBars(exam), []);
  },
};

export function barRestartCases(again: 'restart' | 'crash') {
  return {
    'bars are in force at once when the store is opened again': async (exam: ExamStore) => {
      await exam.install();
      await bar(exam, 'fay', 'user', 'a note');
      const before = await listBars(exam);
      await exam[again](() => exam.clock.advance(HOUR_MS));
      assert.deepEqual(await listBars(exam), before);
      assert.equal(codeOf(await exam.register('fay')), 'blacklisted');
      await unbar(exam, 'fay');
      await exam[again]();
      assert.equal(codeOf(await exam.register('fay')), 'granted');
    },
  };
}
