import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Instant, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type GroupAnswer, tidyMembers } from '../../../src/core/rules/directory-groups.ts';
import { checkExpectation } from '../../../src/core/rules/expectation.ts';
import { explainGroups } from '../../../src/core/rules/explain.ts';
import { listGroups } from '../../../src/core/rules/groups.ts';
import { NO_NAMES, type RuleSet } from '../../../src/core/rules/rule-set.ts';
import { NO_RULES } from '../../../src/core/rules/rules.ts';
import { listWarnings } from '../../../src/core/rules/warnings.ts';
import { refreshGroups, setRules as setRulesModule } from '../../../src/core/system/rules.ts';
import { inForce, NOW, ruling, setRules } from '../examples.ts';

const CAD = 'cn=cad,ou=groups,dc=example';

/** Only members of "cad" may use the product; "staff" contains it. */
function allowing(...members: readonly string[]): RuleSet {
  const cad = { ...NO_NAMES, users: ['x-*'], directory: { dn: CAD, members } };
  return { ...ruling({ allow: ['cad'] }), groups: { cad, staff: { ...NO_NAMES, groups: ['cad'] } } };
}

const somebody = (user: string) => ({ user, hostname: null, address: null });

describe('a group with a directory', () => {
  const groupsOf = (user: string) => [...listGroups(allowing('Ann', 'o*', 'Zoë'), somebody(user))];

  test('has the members that it told, and those of the text', () => {
    for (const user of ['ann', 'ANN', 'ａｎｎ', 'o*', 'zoe\u0308', 'x-1']) {
      assert.deepEqual(groupsOf(user), ['cad', 'staff'], user);
    }
  });

  test('takes no name for a pattern', () => {
    for (const user of ['', 'otto', 'an', 'anna']) assert.deepEqual(groupsOf(user), [], user);
  });

  test('is named when somebody asks why', () => {
    assert.deepEqual(explainGroups(allowing('Ann'), somebody('ann')), [
      { group: 'cad', by: `directory: ${CAD}` },
      { group: 'staff', by: 'groups: cad' },
    ]);
  });

  test('may have members for a reservation, whoever they are', () => {
    const reserve = [{ line: 1, during: null, slots: 9, for: 'cad' }];
    const rules = { ...ruling({ allow: ['staff'], reserve }), groups: allowing().groups };
    assert.deepEqual(listWarnings(rules, null), []);
    const only = {
      ...rules,
      groups: { ...rules.groups, cad: { ...NO_NAMES, directory: { dn: CAD, members: [] } } },
    };
    assert.deepEqual(listWarnings(only, null), []);
    const users = { ...rules.groups.cad, ...NO_NAMES, users: ['ann'] };
    assert.deepEqual(listWarnings({ ...rules, groups: { ...rules.groups, cad: users } }, null), []);
  });

  test('can be expected to have somebody', () => {
    const expected = { user: 'o*', hostname: null, address: null, product: 'cad', feature: null, held: {} };
    const rest = {
      heldAt: { host: 0, address: 0 },
      free: null,
      at: null,
      answer: 'served',
      rule: null,
    } as const;
    const check = (groups: readonly string[]) =>
      checkExpectation(allowing(), { ...expected, ...rest, groups }).ok;
    assert.deepEqual([check(['cad']), check([]), check(['staff'])], [true, false, false]);
  });
});

test('each member counts once, in order, and only by a name that a user can have', () => {
  const hostile = ['', ' ', '\u200b', 'an\u200bn', 'a\nb', 'x'.repeat(257), '\ud800'];
  assert.deepEqual(tidyMembers(['zoe', ...hostile, ' Ann ', 'ann', 'Doe, Jane', '*']), [
    '*',
    'ann',
    'Doe, Jane',
    'zoe',
  ]);
});

describe('setting rules with a directory group', () => {
  const command = setRules(allowing('ann'));
  const first = setRulesModule.decide(command, { rules: NO_RULES, written: null }, NOW);

  test('records who is in it', () => {
    const [put] = first.changes;
    assert.ok(put?.kind === 'put_rules');
    assert.deepEqual(put.ages, [{ dn: CAD, answeredAt: NOW, problem: null }]);
    const [changed, joined] = first.events;
    assert.equal(changed?.kind, 'rules_changed');
    const facts = { revision: 1, group: 'cad', joined: ['ann'], left: [], by: 'directory' };
    assert.deepEqual(joined, { kind: 'group_changed', ...facts });
  });

  test('keeps the members and the age of groups in force, which may be newer', () => {
    const ages = [{ dn: CAD, answeredAt: plus(NOW, -MINUTE_MS), problem: 'It is away.' }];
    const facts = { rules: inForce(allowing('bob')), written: { text: 'before', writtenIn: 1, ages } };
    const { changes, events } = setRulesModule.decide(command, facts, NOW);
    const [put] = changes;
    assert.ok(put?.kind === 'put_rules');
    assert.deepEqual([put.rules.groups.cad?.directory?.members, put.ages], [['bob'], ages]);
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ['rules_changed'],
    );
  });
});

describe('what the directory answers', () => {
  const rules = inForce(allowing('ann', 'bob'));
  const AGE = { dn: CAD, answeredAt: plus(NOW, -MINUTE_MS) as Instant, problem: null };
  const written = { text: 'the text', writtenIn: 1, ages: [AGE] };
  const refresh = (answer: GroupAnswer, basedOn = 1) =>
    refreshGroups.decide({ kind: 'refresh_groups', basedOn, answers: [answer] }, { rules, written }, NOW);

  test('is a new revision with the same text if members have changed, recorded by name', () => {
    const { outcome, changes, events } = refresh({ dn: CAD, members: ['bob', 'cid'] });
    assert.deepEqual(outcome, { kind: 'done', count: 2 });
    const ages = [{ ...AGE, answeredAt: NOW }];
    const revised = { revision: 2, ...written, ages, by: 'directory' };
    assert.deepEqual(changes, [{ kind: 'put_rules', rules: allowing('bob', 'cid'), ...revised }]);
    const facts = { revision: 2, group: 'cad', joined: ['cid'], left: ['ann'], by: 'directory' };
    assert.deepEqual(events, [{ kind: 'group_changed', ...facts }]);
  });

  test('is only an age if they are the same, in whatever case', () => {
    const { outcome, changes, events } = refresh({ dn: CAD, members: ['ANN', 'bob'] });
    assert.deepEqual([outcome, events], [{ kind: 'done', count: 0 }, []]);
    const ages = [{ ...AGE, answeredAt: NOW }];
    assert.deepEqual(changes, [{ kind: 'put_group_ages', revision: 1, ages }]);
  });

  test('keeps the members and their age if it is a problem, written once', () => {
    const problem = 'It is away.';
    const { changes, events } = refresh({ dn: CAD, problem });
    const ages = [{ ...AGE, problem }];
    assert.deepEqual([changes, events], [[{ kind: 'put_group_ages', revision: 1, ages }], []]);
    const again = { kind: 'refresh_groups', basedOn: 1, answers: [{ dn: CAD, problem }] } as const;
    const facts = { rules, written: { ...written, ages } };
    assert.deepEqual(refreshGroups.decide(again, facts, NOW).changes, []);
  });

  test('may be that a group is empty', () => {
    const [event] = refresh({ dn: CAD, members: [] }).events;
    assert.deepEqual(event?.kind === 'group_changed' && event.left, ['ann', 'bob']);
  });

  test('changes nothing if other rules were applied meanwhile, or do not name the group', () => {
    for (const decision of [
      refresh({ dn: CAD, members: [] }, 0),
      refresh({ dn: CAD, members: [] }, 2),
      refresh({ dn: 'cn=other', members: ['eve'] }),
    ]) {
      assert.deepEqual(decision, { outcome: { kind: 'done', count: 0 }, changes: [], events: [] });
    }
  });

  test('does not make an editor start again: the text is the same', () => {
    const facts = { rules: { ...rules, revision: 7 }, written: { ...written, writtenIn: 4 } };
    const edited = setRules(allowing());
    const kindOf = (basedOn: number) =>
      setRulesModule.decide({ ...edited, basedOn }, facts, NOW).outcome.kind;
    assert.deepEqual([3, 4, 6, 7, 8].map(kindOf), ['refused', 'done', 'done', 'done', 'refused']);
  });
});
