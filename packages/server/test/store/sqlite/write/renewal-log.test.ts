import assert from 'node:assert/strict';
import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { createRandom, pickNumber, pickOne, type Random } from '../../../../../../test/support/random.ts';
import { temporaryFolder } from '../../../../../../test/support/server-process.ts';
import { type Instant, instant, MINUTE_MS, plus } from '../../../../src/core/nouns/instant.ts';
import { registrationRow } from '../../../../src/store/engine/rows.ts';
import { copyDatabase } from '../../../../src/store/sqlite/move/copy-database.ts';
import { SqliteReader } from '../../../../src/store/sqlite/read/reader.ts';
import { openWritable } from '../../../../src/store/sqlite/wire/database.ts';
import { listRows } from '../../../../src/store/sqlite/wire/read-rows.ts';
import { prepareStatements } from '../../../../src/store/sqlite/write/statements.ts';
import { exampleSlot, LICENSE_ID, NOW } from '../../../core/examples.ts';
import { users } from '../../exam/exam-store.ts';

const LATER = plus(NOW, MINUTE_MS);
const LATEST = plus(NOW, 2 * MINUTE_MS);

type Ends = Readonly<Record<string, Instant>>;

const keyOf = (user: string) => ({ license_id: LICENSE_ID, user });
const rowOf = (user: string, endsAt: Instant = NOW) => ({
  ...registrationRow(LICENSE_ID, exampleSlot(user)),
  ends_at: endsAt,
});

/** What a file says without its log. */
function readRows(db: ReturnType<typeof openWritable>): Ends {
  const rows = listRows<{ user: string; ends_at: Instant }>(db, 'SELECT user, ends_at FROM registration');
  return Object.fromEntries(rows.map(({ user, ends_at }) => [user, ends_at]));
}

function addLicense(db: ReturnType<typeof openWritable>): void {
  const sql = `INSERT INTO license (id, product, facts, added_order, added_at, audit_mac)
    VALUES (?, 'cad', '{}', 1, 0, x'')`;
  db.prepare(sql).run(LICENSE_ID);
}

type Log = ReturnType<typeof openLog>;

/** The statements of a writer whose log is full with this many renewals. */
function openLog(t: TestContext, renewals?: number) {
  const folder = temporaryFolder(t);
  const file = join(folder, 'berth.db');
  const db = openWritable(file);
  const statements = prepareStatements(db, { renewals });
  const { registration } = statements;
  addLicense(db);
  const reader = new SqliteReader({ file });
  t.after(() => {
    reader.close();
    db.close();
  });
  let copies = 0;

  function commit(work: () => void): void {
    statements.begin.run();
    work();
    registration.beforeCommit();
    statements.commit.run();
    registration.afterCommit();
  }

  function openCopy(copy: string): Ends {
    const opened = openWritable(copy);
    try {
      const late = listRows(opened, 'SELECT user FROM registration WHERE due_at > ends_at');
      assert.deepEqual(late, []);
      assert.deepEqual(listRows(opened, "SELECT * FROM renewal WHERE users <> '[]'"), []);
      return readRows(opened);
    } finally {
      opened.close();
    }
  }

  /** What a server finds after this one was killed now. */
  function crash(): Ends {
    const copy = join(folder, `copy-${++copies}.db`);
    for (const suffix of ['', '-wal']) {
      if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix);
    }
    return openCopy(copy);
  }

  /** What queries find while this one runs. */
  function query(): Ends {
    const scope = { licenseId: null, product: null, user: null, limit: 100, after: null } as const;
    const { registrations } = reader.answer({ kind: 'list_registrations', ...scope }, instant(0), []);
    return Object.fromEntries(registrations.map(({ registration: { user, endsAt } }) => [user, endsAt]));
  }

  const countLog = () => listRows(db, 'SELECT seq FROM renewal').length;
  return { folder, file, db, statements, registration, commit, crash, openCopy, query, countLog };
}

describe('renewals that are not in their rows yet', () => {
  test('are found after a crash, and in a copy of the running store', async (t) => {
    const { folder, file, db, registration, commit, crash, openCopy } = openLog(t);
    commit(() => {
      for (const user of users(3)) registration.put(rowOf(user));
    });
    commit(() => {
      for (const user of users(2)) registration.renew(keyOf(user), LATER);
    });
    commit(() => registration.renew(keyOf('user-0001'), LATEST));
    assert.deepEqual(readRows(db), { 'user-0000': NOW, 'user-0001': NOW, 'user-0002': NOW });
    const expected = { 'user-0000': LATER, 'user-0001': LATEST, 'user-0002': NOW };
    assert.deepEqual(crash(), expected);
    const copy = join(folder, 'backup.db');
    await copyDatabase(file, copy, () => {});
    assert.deepEqual(openCopy(copy), expected);
  });

  test('do not bring an earlier end back', (t) => {
    const { statements, registration, commit, crash } = openLog(t);
    const everyone = ['back', 'again', 'gone', 'bulk', '\ufffd'];
    commit(() => {
      for (const user of everyone) registration.put(rowOf(user));
    });
    commit(() => {
      for (const user of everyone) registration.renew(keyOf(user), LATEST);
    });
    commit(() => {
      registration.renew(keyOf('back'), LATER);
      registration.renew(keyOf('\ud800'), LATER);
      registration.remove(keyOf('again'));
      registration.remove(keyOf('gone'));
    });
    commit(() => registration.add(rowOf('again', LATER)));
    assert.deepEqual(crash(), { back: LATER, again: LATER, bulk: LATEST, '\ufffd': LATER });
    commit(() => statements.endRegistrationsBy.run({ id: LICENSE_ID, endsBy: NOW }));
    assert.deepEqual(crash(), { back: NOW, again: NOW, bulk: NOW, '\ufffd': NOW });
    commit(() => registration.renew(keyOf('bulk'), LATER));
    assert.equal(crash().bulk, LATER);
  });

  test('are those before a command that was undone', (t) => {
    const { registration, commit, crash } = openLog(t);
    commit(() => {
      for (const user of ['ada', 'bob']) registration.put(rowOf(user));
    });
    commit(() => {
      registration.renew(keyOf('ada'), LATER);
      registration.begin();
      registration.set();
      registration.renew(keyOf('ada'), LATEST);
      registration.renew(keyOf('bob'), LATEST);
      registration.beforeCommit();
      registration.rollBack();
    });
    assert.deepEqual(
      ['ada', 'bob'].map((user) => registration.find(keyOf(user))?.ends_at),
      [LATER, NOW],
    );
    assert.deepEqual(crash(), { ada: LATER, bob: NOW });
  });

  test('reach their rows when the log is full, and leave the log', (t) => {
    const { db, registration, commit, crash, countLog } = openLog(t, 100);
    commit(() => {
      for (const user of users(50)) registration.put(rowOf(user));
    });
    const before = readRows(db);
    commit(() => {
      for (const user of users(50)) registration.renew(keyOf(user), LATER);
    });
    assert.deepEqual(readRows(db), before);
    commit(() => {
      for (const user of users(50)) registration.renew(keyOf(user), LATEST);
    });
    assert.deepEqual(new Set(Object.values(readRows(db))), new Set([LATEST]));
    assert.equal(countLog(), 1, 'only the row that keeps its number');
    const endsAt = plus(LATEST, MINUTE_MS);
    commit(() => registration.renew(keyOf('user-0007'), endsAt));
    assert.equal(readRows(db)['user-0007'], LATEST);
    assert.equal(crash()['user-0007'], endsAt);
  });
});

/** What the writer says of ends at a time. */
function expectEnds(registration: Log['registration'], ends: readonly Instant[], now: Instant): void {
  const since = plus(now, -50);
  const hasEnded = ends.some((end) => end > since && end <= now);
  assert.equal(registration.hasEndedSince(LICENSE_ID, since, now), hasEnded);
  const ended = ends.filter((end) => end <= now).sort((one, other) => one - other);
  const listed = registration.listEnded(LICENSE_ID, now, 1000).map(({ ends_at }) => ends_at);
  assert.deepEqual(listed, ended);
  assert.equal(registration.countEnded(LICENSE_ID, now), ended.length);
  const next = ends.filter((end) => end > now);
  assert.equal(registration.findEnd(LICENSE_ID, now), next.length === 0 ? null : Math.min(...next));
}

/** One random change to the registrations, the same in the model. */
function changeAny({ statements, registration }: Log, model: Map<string, Instant>, random: Random): void {
  const user = pickOne(random, users(12));
  const endsAt = plus(NOW, pickNumber(random, { from: 1, to: 1000 }));
  const isHeld = model.has(user);
  const kind = pickNumber(random, { from: 0, to: 99 });
  if (kind === 0) {
    statements.endRegistrationsBy.run({ id: LICENSE_ID, endsBy: endsAt });
    for (const [name, end] of model) model.set(name, Math.min(end, endsAt) as Instant);
  } else if (kind < 4) {
    expectEnds(registration, [...model.values()], endsAt);
  } else if (kind < 12 && isHeld) {
    registration.remove(keyOf(user));
    model.delete(user);
  } else if (kind < 20 || !isHeld) {
    registration[isHeld ? 'put' : 'add'](rowOf(user, endsAt));
    model.set(user, endsAt);
  } else {
    const later = kind < 90 ? plus(model.get(user) as Instant, 1) : endsAt;
    registration.renew(keyOf(user), later);
    model.set(user, later);
  }
}

test('whatever happens, the file and memory say the same as a map of ends', (t) => {
  for (const seed of [1, 2, 3]) {
    const log = openLog(t, 10 * seed);
    const random = createRandom(seed);
    const savepoint = log.registration;
    let model = new Map<string, Instant>();
    for (let batch = 0; batch < 150; batch++) {
      log.commit(() => {
        for (let count = pickNumber(random, { from: 1, to: 8 }); count > 0; count--) {
          const before = new Map(model);
          const chance = pickNumber(random, { from: 0, to: 19 });
          savepoint.begin();
          if (chance < 5) savepoint.set();
          changeAny(log, model, random);
          if (chance > 0) savepoint.release();
          else {
            savepoint.rollBack();
            model = before;
          }
        }
      });
      const expected = Object.fromEntries([...model].sort());
      const found = users(12).map((user) => [user, log.registration.find(keyOf(user))?.ends_at]);
      assert.deepEqual(Object.fromEntries(found.filter(([, end]) => end !== undefined)), expected);
      assert.deepEqual(log.query(), expected);
      if (batch % 15 === 0) assert.deepEqual(log.crash(), expected);
    }
  }
});

test('a reader finds renewals at once, those in the rows and those in the log', (t) => {
  const { statements, registration, commit, query } = openLog(t, 4);
  commit(() => {
    for (const user of ['ada', 'bob', 'eve']) registration.put(rowOf(user));
  });
  assert.deepEqual(query(), { ada: NOW, bob: NOW, eve: NOW });
  for (let round = 1; round < 12; round++) {
    const endsAt = plus(NOW, round);
    commit(() => {
      for (const user of ['ada', 'bob']) registration.renew(keyOf(user), endsAt);
    });
    assert.deepEqual(query(), { ada: endsAt, bob: endsAt, eve: NOW });
  }
  const bob = plus(NOW, 5);
  commit(() => registration.renew(keyOf('ada'), NOW));
  commit(() => statements.endRegistrationsBy.run({ id: LICENSE_ID, endsBy: bob }));
  assert.deepEqual(query(), { ada: NOW, bob, eve: NOW });
  commit(() => registration.renew(keyOf('eve'), LATER));
  assert.deepEqual(query(), { ada: NOW, bob, eve: LATER });
});

test('whoever counts live slots finds those that were renewed; whoever lists slots must commit', (t) => {
  const { statements, registration, commit } = openLog(t);
  const origin = '10.0.0.1';
  commit(() => registration.put({ ...rowOf('ada'), origin, borrowed_until: LATEST }));
  commit(() => registration.renew(keyOf('ada'), LATEST));
  commit(() => {
    const crowd = { id: LICENSE_ID, now: LATER, first: origin, last: origin };
    assert.equal(statements.countBorrowedFrom.get(crowd)?.count, 1);
  });
  commit(() => {
    registration.renew(keyOf('ada'), plus(LATEST, 1));
    assert.equal(registration.isAhead, false);
    assert.deepEqual(
      statements.listRegistrationsOf.all(LICENSE_ID).map(({ ends_at }) => ends_at),
      [plus(LATEST, 1)],
    );
    assert.equal(registration.isAhead, true);
  });
});
