import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { openTestStore, readEvents, START } from '../../../../../test/support/test-app.ts';
import { Fault } from '../../../src/core/nouns/fault.ts';
import { plus } from '../../../src/core/nouns/instant.ts';
import { NO_RULES } from '../../../src/core/rules/rules.ts';
import { createRuleBook, type RuleBook } from '../../../src/services/access/rule-book.ts';
import { openRulesFile, RulesError } from '../../../src/services/access/rules-file.ts';
import type { Store } from '../../../src/store/store.ts';
import { denying } from '../../core/examples.ts';

const ADA = 'deny: {users: [ada]}';

async function setUp(t: TestContext, name = '') {
  const { store, clock, folder } = await openTestStore(t);
  const rules = name === '' ? '' : join(folder, name);
  const path = join(folder, name || 'rules.yaml');
  const open = (over: Store = store, isShared = false) =>
    createRuleBook(over, openRulesFile({ rules, data: folder }, { isShared }));
  return { store, clock, path, open, write: (text: string) => writeFileSync(path, text) };
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
    assert.deepEqual(await open().begin(), { kind: 'taken', rules: denying({ users: ['ada'] }) });
    assert.deepEqual(await open().begin(), { kind: 'unchanged' });
  });

  test('no file in the data folder means no rules, whatever was in force', async (t) => {
    const { store, write, path, open } = await setUp(t);
    assert.deepEqual(await open().begin(), { kind: 'unchanged' });
    write(ADA);
    await open().begin();
    rmSync(path);
    assert.deepEqual(await open().begin(), { kind: 'taken', rules: NO_RULES });
    assert.deepEqual((await store.read({ kind: 'find_rules' })).rules, NO_RULES);
  });

  test('an invalid file prevents the start, unless there are rules', async (t) => {
    const { store, write, path, open } = await setUp(t);
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
    assert.equal(await refreshTwice(book), null, 'it was told');
    write('deny: [[');
    assert.equal((await refreshTwice(book))?.kind, 'refused');
    assert.deepEqual((await store.read({ kind: 'find_rules' })).rules, denying({ users: ['ada'] }));
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
    const { store, write, path, open } = await setUp(t);
    const book = open();
    await book.begin();
    write(ADA);
    assert.equal((await refreshTwice(book))?.kind, 'taken');
    assert.equal(await book.refresh(), null);
    write(`${ADA} # left last week`);
    assert.equal((await refreshTwice(book))?.kind, 'unchanged');
    rmSync(path);
    assert.deepEqual(await refreshTwice(book), { kind: 'taken', rules: NO_RULES });
    const events = (await readEvents(store)).filter(({ kind }) => kind === 'rules_changed');
    assert.equal(events.length, 2);
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
      const { rules, error, file } = await book.describe();
      assert.deepEqual(rules, denying({ users: ['ada'] }));
      assert.ok(error?.startsWith(`The rules file ${path} is not valid: line 1, column `));
      assert.equal(file, path);
    }
    write(ADA);
    assert.equal((await refreshTwice(book))?.kind, 'unchanged');
    assert.equal((await book.describe()).error, null);
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

test('rules are described with their digest, and since when they are in force', async (t) => {
  const { store, clock, write, path, open } = await setUp(t);
  const book = open();
  const none = await book.describe();
  assert.deepEqual(
    { ...none, digest: '' },
    { file: path, rules: NO_RULES, bars: [], changedAt: null, digest: '', error: null },
  );
  clock.advance(5);
  write(ADA);
  await book.begin();
  const { digest, changedAt } = await book.describe();
  assert.match(digest, /^[0-9a-f]{16}$/);
  assert.notEqual(digest, none.digest);
  assert.equal(changedAt, plus(START, 5));
  const event = (await readEvents(store)).at(-1);
  assert.ok(event?.kind === 'rules_changed');
  assert.deepEqual([event.users, event.digest, event.by], [1, digest, 'server']);
});

describe('with several servers', () => {
  test("only the leader's file counts, from the moment it leads", async (t) => {
    const { store, write, open } = await setUp(t);
    const state = { leads: false };
    const book = open({ ...store, isLeader: () => state.leads }, true);
    write(ADA);
    assert.deepEqual(await book.begin(), { kind: 'unchanged' });
    assert.deepEqual((await store.read({ kind: 'find_rules' })).rules, NO_RULES);
    state.leads = true;
    assert.deepEqual(await refreshTwice(book), { kind: 'taken', rules: denying({ users: ['ada'] }) });

    const others = denying({ users: ['bob'] });
    await store.execute({ kind: 'set_rules', rules: others, digest: 'other', by: 'server' });
    assert.equal(await book.refresh(), null, 'the file is as it was');
    book.takeOver();
    assert.deepEqual(await book.refresh(), { kind: 'taken', rules: denying({ users: ['ada'] }) });
    assert.equal(await book.refresh(), null);
  });

  test('one without a file admits nobody whom another one has barred', async (t) => {
    const { store, write, path, open } = await setUp(t);
    write(ADA);
    await open(store, true).begin();
    rmSync(path);
    assert.deepEqual(await open(store, true).begin(), { kind: 'unchanged' });
    const inForce = async () => (await store.read({ kind: 'find_rules' })).rules;
    assert.deepEqual(await inForce(), denying({ users: ['ada'] }));
    write('deny: {}');
    assert.equal((await open(store, true).begin()).kind, 'taken');
    assert.deepEqual(await inForce(), NO_RULES);
  });
});
