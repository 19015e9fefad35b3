import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { temporaryFolder } from '../../../../../../test/support/server-process.ts';
import { earlier, type Instant, MINUTE_MS, plus } from '../../../../src/core/nouns/instant.ts';
import { makeMasterKey } from '../../../../src/secrets/master-key.ts';
import { createManualClock } from '../../../../src/store/clock.ts';
import { registrationRow } from '../../../../src/store/engine/rows.ts';
import { countOf } from '../../../../src/store/engine/sql.ts';
import { openInThreadStore } from '../../../../src/store/sqlite/in-thread-store.ts';
import { openWritable } from '../../../../src/store/sqlite/wire/database.ts';
import { prepareStatements } from '../../../../src/store/sqlite/write/statements.ts';
import {
  exampleLicense,
  exampleSlot,
  LICENSE_ID,
  NOW,
  register,
  unregister,
} from '../../../core/examples.ts';
import { grantedOf, users } from '../../exam/exam-store.ts';
import { expectSound } from '../../exam/soundness.ts';

const ENDED = plus(NOW, -MINUTE_MS);
const LATER = plus(NOW, MINUTE_MS);

const rowOf = (user: string) => registrationRow(LICENSE_ID, exampleSlot(user));
const keyOf = (user: string) => ({ license_id: LICENSE_ID, user });

/** The statements of a writer within a transaction; `ada` holds a slot. */
function begin(t: TestContext, rows?: number) {
  const db = openWritable(join(temporaryFolder(t), 'berth.db'));
  t.after(() => db.close());
  const statements = prepareStatements(db, { rows });
  const { registration } = statements;
  statements.begin.run();
  registration.put(rowOf('ada'));
  registration.begin();
  const endOf = (user: string) => registration.find(keyOf(user))?.ends_at;
  const countEnded = () => countOf(statements.countEnded.get(LICENSE_ID, NOW));
  return { statements, registration, savepoint: registration, endOf, countEnded };
}

describe('registrations in memory', () => {
  test('are what the file holds: whatever reads it finds a renewal at once', (t) => {
    const { registration, endOf, countEnded } = begin(t);
    for (const user of users(100)) registration.put(rowOf(user));
    for (const user of users(100)) registration.renew(keyOf(user), ENDED);
    assert.equal(endOf('ada'), rowOf('ada').ends_at);
    assert.equal(countEnded(), 100);
    registration.renew(keyOf('ada'), ENDED);
    assert.equal(registration.listEnded(LICENSE_ID, NOW, 1000).length, 101);
    registration.renew(keyOf('ada'), LATER);
    assert.deepEqual([endOf('ada'), registration.findEnd(LICENSE_ID, NOW)], [LATER, LATER]);
    registration.renew(keyOf('ada'), ENDED);
    registration.remove(keyOf('ada'));
    assert.deepEqual([endOf('ada'), countEnded()], [undefined, 100]);
  });

  test('end at their last end, whenever they are due', (t) => {
    const { registration, countEnded } = begin(t);
    for (const user of ['bob', 'eve']) registration.put({ ...rowOf(user), ends_at: ENDED });
    assert.equal(registration.findEnd(LICENSE_ID), ENDED);
    registration.renew(keyOf('bob'), LATER);
    assert.deepEqual([registration.isAhead, countEnded(), registration.isAhead], [false, 1, true]);
    const ended = registration.listEnded(LICENSE_ID, NOW, 1000).map(({ user }) => user);
    assert.deepEqual([ended, registration.findEnd(LICENSE_ID, NOW)], [['eve'], LATER]);
    registration.remove(keyOf('eve'));
    assert.equal(registration.findEnd(LICENSE_ID), LATER);
  });

  test('know which of them ends next, whatever was written since the last question', (t) => {
    const { registration, statements, savepoint } = begin(t);
    const ends = new Map([['ada', rowOf('ada').ends_at]]);
    const names = users(8);
    let seed = 7;
    const pick = (count: number) => {
      seed = (seed * 1103515245 + 12345) % 2 ** 31;
      return Math.floor((seed / 2 ** 31) * count);
    };
    const put = (user: string, endsAt: Instant) => {
      registration.put({ ...rowOf(user), ends_at: endsAt });
      ends.set(user, endsAt);
    };
    const change = (user: string, endsAt: Instant) => {
      const kind = pick(20);
      if (kind < 6) put(user, endsAt);
      else if (kind < 9) {
        registration.remove(keyOf(user));
        ends.delete(user);
      } else if (kind < 18) {
        if (!ends.has(user)) return;
        registration.renew(keyOf(user), endsAt);
        ends.set(user, endsAt);
      } else if (kind === 18) {
        statements.endRegistrationsBy.run({ id: LICENSE_ID, endsBy: endsAt });
        for (const [name, end] of ends) ends.set(name, earlier(end, endsAt));
      } else {
        savepoint.begin();
        savepoint.set();
        registration.put({ ...rowOf(user), ends_at: endsAt });
        registration.findEnd(LICENSE_ID, NOW);
        savepoint.rollBack();
      }
    };
    for (let step = 0; step < 2000; step++) {
      const user = names[pick(names.length)] as string;
      change(user, plus(NOW, pick(50)));
      const after = plus(NOW, pick(50));
      const next = Math.min(...[...ends.values()].filter((end) => end > after));
      const expected = Number.isFinite(next) ? next : null;
      assert.equal(registration.findEnd(LICENSE_ID, after), expected, `step ${step}`);
    }
  });

  test('are counted if they are borrowed, also after nobody had borrowed one', (t) => {
    const { registration, statements, savepoint } = begin(t);
    const count = () => countOf(statements.countBorrowed.get({ id: LICENSE_ID, now: NOW }));
    const borrowed = (user: string) => ({ ...rowOf(user), ends_at: LATER, borrowed_until: LATER });
    assert.equal(count(), 0);
    registration.put(borrowed('bob'));
    assert.equal(count(), 1);
    registration.remove(keyOf('bob'));
    assert.equal(count(), 0);
    registration.add(borrowed('eve'));
    assert.equal(count(), 1);
    savepoint.begin();
    savepoint.set();
    registration.remove(keyOf('eve'));
    assert.equal(count(), 0);
    savepoint.rollBack();
    assert.equal(count(), 1);
  });

  test('follow statements that change many rows', (t) => {
    const { statements, registration, endOf } = begin(t);
    registration.renew(keyOf('ada'), LATER);
    statements.endRegistrationsBy.run({ id: LICENSE_ID, endsBy: NOW });
    assert.equal(endOf('ada'), NOW);
    registration.put(rowOf('bob'));
    statements.removeLiveRegistrations.run(LICENSE_ID, NOW);
    assert.deepEqual([endOf('bob'), endOf('ada')], [undefined, NOW]);
  });

  test('are those before a command that is undone, with the renewals of earlier commands', (t) => {
    const { registration, savepoint, endOf, countEnded } = begin(t);
    registration.put(rowOf('bob'));
    registration.renew(keyOf('ada'), LATER);
    savepoint.begin();
    savepoint.set();
    registration.put(rowOf('eve'));
    registration.remove(keyOf('bob'));
    registration.renew(keyOf('ada'), ENDED);
    assert.equal(savepoint.concernsAll(new Error('a bug')), false);
    savepoint.rollBack();
    assert.deepEqual([endOf('eve'), endOf('bob'), endOf('ada')], [undefined, rowOf('bob').ends_at, LATER]);
    assert.equal(countEnded(), 0);
  });

  test('are found in the file when there are more than fit into memory', (t) => {
    const { registration, endOf } = begin(t, 10);
    assert.equal(endOf('eve'), undefined);
    for (const user of users(100)) registration.put(rowOf(user));
    assert.equal(endOf('user-0007'), rowOf('').ends_at);
    registration.renew(keyOf('user-0007'), LATER);
    const gone = ['user-0099', 'user-0095', 'user-0011'];
    for (const user of gone) {
      registration.remove(keyOf(user));
      assert.equal(endOf(user), undefined, user);
    }
    for (const user of users(100)) {
      const expected = user === 'user-0007' ? LATER : rowOf('').ends_at;
      assert.equal(endOf(user), gone.includes(user) ? undefined : expected, user);
      registration.beforeCommit();
    }
  });

  test('a command that fails after it wrote without a savepoint fails the batch', (t) => {
    const { registration, savepoint, statements } = begin(t);
    const bug = new Error('a bug');
    assert.equal(savepoint.concernsAll(bug), false);
    registration.renew(keyOf('ada'), LATER);
    assert.equal(savepoint.concernsAll(bug), true);
    savepoint.begin();
    assert.throws(() => registration.put({ ...rowOf('eve'), ends_at: 'never' as never }), /TEXT/);
    assert.equal(savepoint.concernsAll(bug), false, 'the statement has undone itself');
    const denied = { license_id: LICENSE_ID, code: 'blacklisted', denied_at: NOW, repeated: 0 } as const;
    for (const write of [
      () => statements.denial.put({ ...denied, user: 'ada', feature: '' }),
      () => statements.place_denial.put({ ...denied, place: '10.0.0.1', recorded: 1 }),
    ]) {
      savepoint.begin();
      write();
      assert.equal(savepoint.concernsAll(bug), true);
    }
  });

  test('names that SQLite cannot tell apart are one', (t) => {
    const { registration, endOf } = begin(t);
    assert.equal(endOf('eve'), undefined);
    registration.put(rowOf('\ufffd'));
    assert.equal(endOf('\ud800'), rowOf('').ends_at);
    registration.renew(keyOf('\ud800'), LATER);
    assert.equal(endOf('\ufffd'), LATER);
    registration.remove(keyOf('\udfff'));
    assert.equal(endOf('\ufffd'), undefined);
  });
});

test('renewals of a batch are in the file when they are acknowledged', async (t) => {
  const file = join(temporaryFolder(t), 'berth.db');
  const clock = createManualClock(NOW);
  const store = openInThreadStore({ file, masterKey: makeMasterKey(), clock, onNotice: () => {} });
  t.after(() => store.close());
  await store.execute({ kind: 'install_license', license: exampleLicense({ slots: 200 }), by: 'admin' });
  for (const user of [...users(93), 'gone']) await store.execute(register(user));
  clock.advance(MINUTE_MS);
  const gone = store.execute(unregister('gone'));
  const asked = users(93).map((user) => store.execute(register(user)));
  const ends = (await Promise.all(asked)).map((outcome) => grantedOf(outcome).registration.endsAt);
  await gone;
  const scope = { licenseId: null, product: null, user: null, limit: 1000, after: null };
  const { registrations: stored } = await store.read({ kind: 'list_registrations', ...scope });
  assert.equal(stored.length, 93);
  assert.deepEqual(new Set(stored.map(({ registration }) => registration.endsAt)), new Set(ends));
  assert.deepEqual([...new Set(ends)], [plus(NOW, 11 * MINUTE_MS)]);
  await expectSound(store);
});

test('a store that was closed leaves no renewal to its log', async (t) => {
  const file = join(temporaryFolder(t), 'berth.db');
  const clock = createManualClock(NOW);
  const store = openInThreadStore({ file, masterKey: makeMasterKey(), clock, onNotice: () => {} });
  await store.execute({ kind: 'install_license', license: exampleLicense({ slots: 2 }), by: 'admin' });
  await store.execute(register('ada'));
  clock.advance(MINUTE_MS);
  const { endsAt } = grantedOf(await store.execute(register('ada'))).registration;
  await store.close();
  const db = new DatabaseSync(file, { readOnly: true });
  t.after(() => db.close());
  assert.equal(db.prepare('SELECT ends_at FROM registration').get()?.ends_at, endsAt);
  assert.equal(db.prepare("SELECT 1 FROM renewal WHERE users <> '[]'").get(), undefined);
});
