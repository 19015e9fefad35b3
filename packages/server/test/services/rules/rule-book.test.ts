import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { openTestStore, readEvents, START } from '../../../../../test/support/test-app.ts';
import { Fault } from '../../../src/core/nouns/fault.ts';
import { plus } from '../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import { createDirectoryGroups } from '../../../src/services/rules/directory-groups.ts';
import { createRuleBook, type RuleBook } from '../../../src/services/rules/rule-book.ts';
import { openRulesFile, RulesError } from '../../../src/services/rules/rules-file.ts';
import { runTaskHere } from '../../../src/services/tasks/task.ts';
import type { Store } from '../../../src/store/store.ts';
import { denying, exampleLicense, register, setRules } from '../../core/examples.ts';

const ADA = 'deny: {users: [ada]}';
const LIFTED = 'deny: {}';

async function setUp(t: TestContext, name = '') {
  const { store, clock, folder } = await openTestStore(t);
  const rules = name === '' ? '' : join(folder, name);
  const path = join(folder, name || 'rules.yaml');
  const open = (over: Store = store) => {
    const groups = createDirectoryGroups(over, null);
    return createRuleBook(over, openRulesFile({ rules, data: folder }), groups, runTaskHere);
  };
  /** Who is denied. */
  const readDenied = async () => (await store.read({ kind: 'find_rules' })).rules.set.deny.users;
  return { store, clock, path, open, readDenied, write: (text: string) => writeFileSync(path, text) };
}

/** As the loop does: a version is taken at the second look. */
async function refreshTwice(book: RuleBook) {
  assert.equal(await book.refresh(), null);
  return book.refresh();
}

describe('at start', () => {
  test('the file in the data folder is used', async (t) => {
    const { write, open } = await setUp(t);
    write(ADA);
    assert.deepEqual(await open().begin(), { kind: 'taken', revision: 1 });
    assert.deepEqual(await open().begin(), { kind: 'unchanged' });
  });

  test('without a file, whatever was in force stays in force', async (t) => {
    const { write, path, open, readDenied } = await setUp(t);
    assert.deepEqual(await open().begin(), { kind: 'unchanged' });
    write(ADA);
    await open().begin();
    rmSync(path);
    assert.deepEqual(await open().begin(), { kind: 'unchanged' });
    assert.deepEqual(await readDenied(), ['ada']);
  });

  test('an invalid file prevents the start, unless there are rules', async (t) => {
    const { write, path, open, readDenied } = await setUp(t);
    write('deny: {user: [ada]}');
    await assert.rejects(open().begin(), (error: Error) => {
      assert.ok(error instanceof RulesError);
      assert.equal(
        error.message,
        `The rules file ${path} is not valid: line 1, column 8: "deny.user" is unknown. ` +
          'Did you mean "users"? Correct the file: without it, the server would bar nobody.',
      );
      return true;
    });
    write(ADA);
    await open().begin();
    write('deny: [');
    const book = open();
    assert.equal((await book.begin()).kind, 'refused');
    assert.equal(await refreshTwice(book), null, 'it was logged');
    write('deny: [[');
    assert.equal((await refreshTwice(book))?.kind, 'refused');
    assert.deepEqual(await readDenied(), ['ada']);
  });

  test('a configured file must exist', async (t) => {
    const { write, path, open } = await setUp(t, 'barred.yaml');
    await assert.rejects(open().begin(), /barred\.yaml is not valid: it does not exist\. Correct the file/);
    write(ADA);
    assert.equal((await open().begin()).kind, 'taken');
    rmSync(path);
    assert.equal((await open().begin()).kind, 'refused');
  });
});

describe('while the server runs', () => {
  test('each version of the file is used once', async (t) => {
    const { store, write, path, open, readDenied } = await setUp(t);
    const book = open();
    await book.begin();
    write(ADA);
    assert.deepEqual(await refreshTwice(book), { kind: 'taken', revision: 1 });
    assert.equal(await book.refresh(), null);
    write(`${ADA} # left last week`);
    assert.deepEqual(await refreshTwice(book), { kind: 'taken', revision: 2 });
    rmSync(path);
    assert.equal((await refreshTwice(book))?.kind, 'unchanged');
    assert.deepEqual(await readDenied(), ['ada'], 'the last version stays');
    write(LIFTED);
    assert.deepEqual(await refreshTwice(book), { kind: 'taken', revision: 3 });
    assert.deepEqual(await readDenied(), []);
    const events = (await readEvents(store)).filter(({ kind }) => kind === 'rules_changed');
    assert.equal(events.length, 3);
  });

  test('an invalid version is reported once, and changes nothing', async (t) => {
    const { write, path, open } = await setUp(t);
    const book = open();
    write(ADA);
    await book.begin();
    await refreshTwice(book);
    for (const broken of ['deny: [', '']) {
      write(broken);
      assert.equal((await refreshTwice(book))?.kind, 'refused');
      assert.equal(await book.refresh(), null);
      const { rules, fileError, file } = await book.describe();
      assert.deepEqual(rules.set.deny.users, ['ada']);
      assert.ok(fileError?.startsWith(`The rules file ${path} is not valid: `), `${fileError}`);
      assert.equal(file, path);
    }
    write(ADA);
    assert.equal((await refreshTwice(book))?.kind, 'unchanged');
    assert.equal((await book.describe()).fileError, null);
  });

  test('a version that could not be stored is tried again', async (t) => {
    const { store, write, open } = await setUp(t);
    let isFull = false;
    // The real store, on a disk that is full for a while.
    const failing: Store = {
      ...store,
      read: (query) => store.read(query),
      execute: (command) =>
        isFull ? Promise.reject(new Fault('store_unavailable', 'full')) : store.execute(command),
    };
    const book = open(failing);
    await book.begin();
    write(ADA);
    await book.refresh();
    isFull = true;
    await assert.rejects(book.refresh(), Fault);
    await assert.rejects(book.refresh(), Fault);
    isFull = false;
    assert.equal((await book.refresh())?.kind, 'taken');
    assert.equal(await book.refresh(), null);
  });
});

describe('rules are described', () => {
  test('with their text, who applied them, and since when they are in force', async (t) => {
    const { store, clock, write, path, open } = await setUp(t);
    const book = open();
    const { applied: none, file } = await book.describe();
    assert.deepEqual([none, file], [null, null]);
    clock.advance(5);
    write(ADA);
    await book.begin();
    const { applied, file: named } = await book.describe();
    const written = { text: ADA, writtenIn: 1, ages: [] };
    assert.deepEqual(applied, { revision: 1, ...written, by: 'server', at: plus(START, 5) });
    assert.equal(named, path);
    const event = (await readEvents(store)).at(-1);
    assert.ok(event?.kind === 'rules_changed');
    assert.deepEqual([event.revision, event.diff, event.by], [1, [`+${ADA}`], 'server']);
  });

  test('with what each of them does now', async (t) => {
    const { store, open } = await setUp(t);
    const book = open();
    const license = exampleLicense({ id: licenseId(1), slots: 5 });
    await store.execute({ kind: 'install_license', license, by: 'admin' });
    for (const user of ['ada', 'bob']) await store.execute(register(user));
    await book.apply(TEAM, undefined, 'admin');
    const { inForce } = await book.describe();
    assert.deepEqual(
      inForce.map(({ text, inUse, stillToCome }) => [text, inUse, stillToCome]),
      [['reserve 3 for team', 1, 2]],
    );
  });

  test('with warnings, for which the text is read again only if something has changed', async (t) => {
    const { store, open } = await setUp(t);
    const book = open();
    await book.apply(TEAM, undefined, 'admin');
    const { warnings } = await book.describe();
    assert.match(warnings[0]?.message ?? '', /license/);
    assert.equal((await book.describe()).warnings, warnings, 'the very same');
    const license = exampleLicense({ id: licenseId(1), slots: 5 });
    await store.execute({ kind: 'install_license', license, by: 'admin' });
    assert.deepEqual((await book.describe()).warnings, []);
  });
});

const TEAM = `groups:
  team: { users: [ada, "cad-*"] }
products:
  cad:
    reserve:
      - { slots: 3, for: team }
`;

describe('without a file', () => {
  test('rules are applied, compared and reverted', async (t) => {
    const { open, readDenied } = await setUp(t);
    const book = open();
    const applied = await book.apply(ADA, 0, 'admin');
    assert.deepEqual(applied, { revision: 1, isNew: true, warnings: [] });
    assert.deepEqual(await book.apply(ADA, undefined, 'admin'), { ...applied, isNew: false });
    await assert.rejects(book.apply(LIFTED, 0, 'admin'), { code: 'rules_changed' });
    await book.apply(LIFTED, 1, 'admin');
    assert.deepEqual(await readDenied(), []);
    assert.equal((await book.revert(1, 'admin')).revision, 3);
    assert.deepEqual(await readDenied(), ['ada']);
    const revisions = await book.listRevisions();
    assert.deepEqual(
      revisions.map(({ revision, diff }) => [revision, diff]),
      [
        [3, [`-${LIFTED}`, `+${ADA}`]],
        [2, [`-${ADA}`, `+${LIFTED}`]],
        [1, [`+${ADA}`]],
      ],
    );
    await assert.rejects(book.findRevision(4), { code: 'rules_revision_not_found' });
  });

  test('a text with an error is refused whole', async (t) => {
    const { open, readDenied } = await setUp(t);
    const book = open();
    await book.apply(ADA, undefined, 'admin');
    await assert.rejects(book.apply('deny: {users: [bob], user: [eve]}', undefined, 'admin'), {
      code: 'rules_not_valid',
    });
    assert.deepEqual(await readDenied(), ['ada']);
  });

  test('a text whose own examples fail is refused as well, from a file too', async (t) => {
    const { open, readDenied, write } = await setUp(t);
    const book = open();
    await book.apply(ADA, undefined, 'admin');
    const failing = 'deny: {users: [bob]}\nexpect: [{ user: ada, product: cad, answer: refused }]';
    const why = 'An entry of "expect" fails: ada and cad: served, but expected was: refused.';
    await assert.rejects(book.apply(failing, undefined, 'admin'), {
      code: 'rules_not_valid',
      message: `In line 2, column 10: ${why} The rules in force have not changed.`,
    });
    write(failing);
    const notice = await open().begin();
    assert.ok(notice.kind === 'refused' && notice.reason.endsWith(`line 2, column 10: ${why}`));
    assert.ok((await book.describe()).fileError?.endsWith(why));
    assert.deepEqual(await readDenied(), ['ada']);
  });

  test('but not beside a file, nor instead of one that is missing', async (t) => {
    for (const name of ['', 'barred.yaml']) {
      const { write, open, path } = await setUp(t, name);
      if (name === '') write(ADA);
      await assert.rejects(open().apply(LIFTED, undefined, 'admin'), { code: 'rules_in_file' }, path);
    }
  });
});

describe('with several servers', () => {
  test("only the leader's file counts, from the moment it leads", async (t) => {
    const { store, write, open, readDenied } = await setUp(t);
    const state = { leads: false };
    const book = open({ ...store, isLeader: () => state.leads });
    write(ADA);
    assert.deepEqual(await book.begin(), { kind: 'unchanged' });
    assert.deepEqual(await readDenied(), []);
    state.leads = true;
    assert.deepEqual(await refreshTwice(book), { kind: 'taken', revision: 1 });

    await store.execute(setRules(denying({ users: ['bob'] })));
    assert.equal(await book.refresh(), null, 'the file is as it was');
    book.takeOver();
    assert.deepEqual(await book.refresh(), { kind: 'taken', revision: 3 });
    assert.deepEqual(await readDenied(), ['ada']);
    assert.equal(await book.refresh(), null);
  });
});
