import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { openTestStore, readEvents } from '../../../../../test/support/test-app.ts';
import { DAY_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import type { GroupAnswer } from '../../../src/core/rules/directory-groups.ts';
import { type Directory, ProviderFault } from '../../../src/providers/sign-in-provider.ts';
import { createDirectoryGroups } from '../../../src/services/rules/directory-groups.ts';
import { createRuleBook } from '../../../src/services/rules/rule-book.ts';
import { createRuleTrials } from '../../../src/services/rules/rule-trials.ts';
import { openRulesFile } from '../../../src/services/rules/rules-file.ts';
import { runTaskHere } from '../../../src/services/tasks/task.ts';
import type { Store } from '../../../src/store/store.ts';

const CAD = 'cn=cad,ou=groups,dc=example';
const TEXT = `groups: { cad: { users: [root], directory: "${CAD}" } }
products: { cad: { allow: [cad] } }
`;

const AWAY = new ProviderFault('unavailable', 'The directory cannot be reached.');

/** A rule book, and a directory with groups that can be changed. `hasDirectory`: whether there is one. */
async function setUp(t: TestContext, hasDirectory = true) {
  const { store, clock, folder } = await openTestStore(t);
  const members = new Map<string, readonly string[] | Error>([[CAD, ['ann', 'bob']]]);
  const asked: string[][] = [];
  const directory: Pick<Directory, 'listMembers'> = {
    async listMembers(groups) {
      asked.push([...groups]);
      return groups.map((dn): GroupAnswer => {
        const answer = members.get(dn);
        if (answer instanceof Error) throw answer;
        return answer === undefined ? { dn, problem: 'There is no such group.' } : { dn, members: answer };
      });
    },
  };
  const groups = createDirectoryGroups(store, hasDirectory ? (directory as Directory) : null);
  const book = createRuleBook(store, openRulesFile({ rules: '', data: folder }), groups, runTaskHere);
  const readMembers = () => book.listMembers('cad');
  const apply = (text = TEXT) => book.apply(text, undefined, 'admin');
  /** As the leader does when so much time has passed. */
  const refresh = (minutes = 10) => {
    clock.advance(minutes * MINUTE_MS);
    return book.refreshGroups();
  };
  return { store, clock, folder, members, asked, groups, book, readMembers, apply, refresh };
}

describe('rules with a directory group', () => {
  test('are in force with its members, and ask for them once', async (t) => {
    const { asked, book, apply, readMembers } = await setUp(t);
    await apply();
    assert.deepEqual(await readMembers(), ['ann', 'bob']);
    await apply(`${TEXT}# the same group\n`);
    assert.deepEqual(asked, [[CAD]]);
    const { groups, applied } = await book.describe();
    assert.deepEqual(groups, [
      { group: 'cad', dn: CAD, members: ['ann', 'bob'], answeredAt: applied?.at, problem: null },
    ]);
  });

  test('are refused while the directory is away, or if it has no such group', async (t) => {
    const { members, apply, store } = await setUp(t);
    members.set(CAD, AWAY);
    const said =
      /does not tell who is in "cn=cad.*"\. The directory cannot be reached\. Nothing has changed\./;
    await assert.rejects(apply(), { code: 'directory_unavailable', message: said });
    members.delete(CAD);
    await assert.rejects(apply(), { code: 'directory_unavailable', message: /There is no such group/ });
    assert.equal((await store.read({ kind: 'find_rules' })).applied, null);
  });

  test('are refused without a directory in the settings', async (t) => {
    const { book, apply, groups, store } = await setUp(t, false);
    const checked = await book.check(TEXT);
    assert.ok('errors' in checked);
    const [error] = checked.errors;
    assert.equal(
      error?.message,
      '"groups.cad.directory" needs a directory, and this server has none. Set "auth.ldap.url".',
    );
    await assert.rejects(apply(), { code: 'rules_not_valid' });
    const trial = { since: undefined, signal: new AbortController().signal, mayAsk: true };
    await assert.rejects(createRuleTrials(store, groups, runTaskHere).try(TEXT, trial), {
      code: 'rules_not_valid',
    });
  });

  test('can be tried before they are applied, by those who may ask the directory', async (t) => {
    const { store, clock, groups, asked } = await setUp(t);
    clock.advance(DAY_MS);
    const trials = createRuleTrials(store, groups, runTaskHere);
    const trial = { since: undefined, signal: new AbortController().signal };
    await assert.rejects(trials.try(TEXT, { ...trial, mayAsk: false }), { code: 'forbidden' });
    assert.deepEqual(asked, []);
    assert.equal((await trials.try(TEXT, { ...trial, mayAsk: true })).requests, 0);
    assert.deepEqual(asked, [[CAD]]);
  });

  test('in a file are applied when the directory is back', async (t) => {
    const { folder, members, book, refresh, readMembers } = await setUp(t);
    writeFileSync(join(folder, 'rules.yaml'), TEXT);
    members.set(CAD, AWAY);
    const advice = /Start the server again when the directory tells, or correct the file: without it/;
    await assert.rejects(book.begin(), advice, 'without any rules');
    rmSync(join(folder, 'rules.yaml'));
    await book.apply('deny: {}', undefined, 'admin');
    writeFileSync(join(folder, 'rules.yaml'), TEXT);
    members.set(CAD, AWAY);
    assert.equal((await book.begin()).kind, 'refused');
    assert.match((await book.describe()).fileError ?? '', /cannot be reached/);
    for (let look = 0; look < 3; look++) assert.equal(await book.refresh(), null, 'it was logged');
    members.set(CAD, ['ann']);
    await refresh();
    assert.deepEqual(await book.refresh(), { kind: 'taken', revision: 2 });
    assert.deepEqual(await readMembers(), ['ann']);
    assert.equal((await book.describe()).fileError, null);
  });
});

describe('the leader asks again', () => {
  test('after ten minutes, and makes a revision only of a change', async (t) => {
    const { asked, members, apply, refresh, readMembers, store, book } = await setUp(t);
    await apply();
    assert.deepEqual([await refresh(9), asked.length], [{ revision: 0, problems: [] }, 1]);
    assert.deepEqual([await refresh(1), asked.length], [{ revision: 0, problems: [] }, 2]);
    const { applied, groups } = await book.describe();
    assert.deepEqual(
      [applied?.revision, groups[0]?.answeredAt],
      [1, plus(applied?.at as never, 10 * MINUTE_MS)],
    );
    members.set(CAD, ['bob', 'cid']);
    assert.equal((await refresh()).revision, 2);
    assert.deepEqual(await readMembers(), ['bob', 'cid']);
    const event = (await readEvents(store)).at(-1);
    assert.deepEqual(event, {
      kind: 'group_changed',
      revision: 2,
      group: 'cad',
      joined: ['cid'],
      left: ['ann'],
      by: 'directory',
    });
  });

  test('and keeps the last answer with its age while there is none', async (t) => {
    const { asked, members, apply, refresh, readMembers, book } = await setUp(t);
    await apply();
    const { applied } = await book.describe();
    const problem = async () => (await book.describe()).groups[0]?.problem;
    members.set(CAD, AWAY);
    const { problems } = await refresh();
    assert.match(problems[0] ?? '', /"cn=cad.*cannot be reached/);
    members.delete(CAD);
    await refresh(1);
    assert.deepEqual(await readMembers(), ['ann', 'bob']);
    assert.deepEqual([await problem(), asked.length], ['There is no such group.', 3]);
    assert.equal((await book.describe()).groups[0]?.answeredAt, applied?.at);
    members.set(CAD, []);
    assert.equal((await refresh(1)).revision, 2);
    assert.deepEqual([await readMembers(), await problem()], [[], null]);
  });

  test('but overwrites no rules that were applied meanwhile', async (t) => {
    const { members, apply, refresh, readMembers, store, clock } = await setUp(t);
    await apply();
    const NEWER = `${TEXT}deny: { users: [eve] }\n`;
    members.set(CAD, ['cid']);
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const slow = createDirectoryGroups(store, {
      listMembers: async (groups: readonly string[]) => {
        await gate;
        return groups.map((dn) => ({ dn, members: ['old'] }));
      },
    } as unknown as Directory);
    clock.advance(10 * MINUTE_MS);
    const late = slow.refresh();
    await apply(NEWER);
    open();
    assert.equal((await late).revision, 0);
    const { rules, applied } = await store.read({ kind: 'find_rules' });
    assert.deepEqual([applied?.text, rules.set.deny.users], [NEWER, ['eve']]);
    assert.equal((await refresh(0)).revision, 3, 'it is asked again at once');
    assert.deepEqual(await readMembers(), ['cid']);
  });

  test('although the last answer is from the future, since the clock was set right', async (t) => {
    const { apply, store } = await setUp(t);
    await apply();
    const { now } = await store.keepClock();
    const past = { now: plus(now, -DAY_MS) };
    const earlier = {
      read: (query) => store.read(query),
      execute: (command) => store.execute(command),
      keepClock: async () => past,
    } as Store;
    const again: string[] = [];
    const listMembers = async (groups: readonly string[]) => {
      again.push(...groups);
      return [];
    };
    await createDirectoryGroups(earlier, { listMembers } as unknown as Directory).refresh();
    assert.deepEqual(again, [CAD]);
  });
});

test('a text with a wrong directory is refused', async (t) => {
  const { book } = await setUp(t);
  const errorsOf = async (text: string) => {
    const checked = await book.check(text);
    return 'errors' in checked ? checked.errors.map(({ column, message }) => `${column} ${message}`) : [];
  };
  const named = 'must be the whole name of a group: "cn=cad,ou=groups,dc=example,dc=com".';
  const wrong = 'groups: { a: { directory: cad }, b: { directory: [x] }, c: { directory: "=x" } }';
  assert.match((await errorsOf('groups: { a: { directory: "c\\n=x" } }')).join(), /must be the whole name/);
  assert.deepEqual(await errorsOf(wrong), [
    `27 "groups.a.directory" ${named}`,
    '50 "groups.b.directory" must be text.',
    `73 "groups.c.directory" ${named}`,
  ]);
  assert.match((await errorsOf('deny: { directory: "cn=a,dc=b" }')).join(), /"deny\.directory" is unknown/);
  const groups = Array.from({ length: 101 }, (_, n) => `g${n}: { directory: "cn=${n},dc=a" }`);
  const many = '9 "groups" has 101 groups of the directory; at most 100 are allowed.';
  assert.deepEqual(await errorsOf(`groups: { ${groups.join()} }`), [many]);
});

test('only groups with a directory have members to show', async (t) => {
  const { book, apply } = await setUp(t);
  await apply();
  for (const group of ['other', '__proto__']) {
    await assert.rejects(book.listMembers(group), { code: 'group_not_found' });
  }
});
