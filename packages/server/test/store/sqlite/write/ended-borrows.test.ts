import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from '../../../../../../test/support/server-process.ts';
import { endedBorrowRow } from '../../../../src/store/engine/rows.ts';
import { openWritable } from '../../../../src/store/sqlite/wire/database.ts';
import { prepareStatements } from '../../../../src/store/sqlite/write/statements.ts';
import { exampleSlot, LICENSE_ID, NOW } from '../../../core/examples.ts';

/** The statements of a writer within a transaction; nobody has an ended borrow, and that is known. */
function begin(t: TestContext) {
  const db = openWritable(join(temporaryFolder(t), 'berth.db'));
  t.after(() => db.close());
  const statements = prepareStatements(db);
  statements.begin.run();
  const put = (user: string) => {
    const borrow = { ...exampleSlot(user), feature: '', borrowedUntil: NOW };
    statements.ended_borrow.put(endedBorrowRow(LICENSE_ID, borrow, NOW));
  };
  const forget = (user: string) => statements.removeEndedBorrows.run({ id: LICENSE_ID, user, feature: null });
  const list = () =>
    db
      .prepare('SELECT user FROM ended_borrow ORDER BY user')
      .all()
      .map(({ user }) => user);
  forget('ada');
  return { statements, put, forget, list };
}

test('an ended borrow is forgotten although there was none a moment ago', (t) => {
  const { put, forget, list } = begin(t);
  put('ada');
  put('bob');
  forget('ada');
  assert.deepEqual(list(), ['bob']);
  forget('bob');
  put('eve');
  forget('eve');
  assert.deepEqual(list(), []);
});

test('one that a failed command had forgotten is found again', (t) => {
  const { statements, put, forget, list } = begin(t);
  put('ada');
  const savepoint = statements.registration;
  savepoint.begin();
  savepoint.set();
  forget('ada');
  savepoint.rollBack();
  assert.deepEqual(list(), ['ada']);
  forget('ada');
  assert.deepEqual(list(), []);
});
