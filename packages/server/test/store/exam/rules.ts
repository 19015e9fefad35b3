import assert from 'node:assert/strict';
import type { Visitor } from '../../../src/core/nouns/actor.ts';
import { MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import type { HostInfo } from '../../../src/core/nouns/registration.ts';
import type { GroupAnswer } from '../../../src/core/rules/directory-groups.ts';
import { type Denied, NO_NAMES } from '../../../src/core/rules/rule-set.ts';
import { NO_RULES } from '../../../src/core/rules/rules.ts';
import {
  denying,
  exampleFeature,
  exampleLimits,
  inForce,
  NOW,
  register,
  ruling,
  setRules,
} from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf, users } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;

export function deny(exam: ExamStore, list: Partial<Denied>) {
  return exam.execute(setRules(denying(list)));
}

function findRules(exam: ExamStore) {
  return exam.store.read({ kind: 'find_rules' });
}

/** Registers from an address and a host, and returns the code. */
async function ask(
  exam: ExamStore,
  user: string,
  from: string,
  host: Partial<HostInfo> = {},
): Promise<string> {
  const by: Visitor = { name: 'client', address: from };
  const full = { hostname: null, address: null, info: null, ...host };
  return codeOf(await exam.execute({ ...register(user, {}, full), by }));
}

/** The administrator's rules. */
export const RULES = {
  'users, hosts and addresses that are denied get no slot, and others do': async (exam: ExamStore) => {
    await exam.install({ slots: 100 });
    await deny(exam, {
      users: ['mallory', 'ext-*'],
      hosts: ['lab-*.example'],
      addresses: ['10.0.0.0/8', '2001:db8::1'],
    });
    assert.equal(await ask(exam, 'Mallory', '192.0.2.1'), 'blacklisted');
    assert.equal(await ask(exam, 'ext-7', '192.0.2.1'), 'blacklisted');
    assert.equal(await ask(exam, 'a', '192.0.2.1', { hostname: 'LAB-9.example' }), 'blacklisted');
    assert.equal(await ask(exam, 'b', '10.200.0.1'), 'blacklisted');
    assert.equal(await ask(exam, 'c', '2001:db8:0::1'), 'blacklisted');
    assert.equal(await ask(exam, 'd', '192.0.2.1', { address: '10.1.1.1' }), 'blacklisted');
    assert.equal(
      await ask(exam, 'e', '192.0.2.1', { hostname: 'lab.example', address: '11.0.0.1' }),
      'granted',
    );
    assert.deepEqual(await exam.listUsers(), ['e']);
  },

  'rules apply from the next command on, for every license': async (exam: ExamStore) => {
    await exam.install({ product: 'cad' });
    const before = await exam.register('ada');
    const set = await deny(exam, { users: ['a*'] });
    const after = await exam.register('ann');
    const lifted = await deny(exam, {});
    const again = await exam.register('ann');
    assert.deepEqual([before, set, after, lifted, again].map(codeOf), [
      'granted',
      'done',
      'blacklisted',
      'done',
      'granted',
    ]);
    assert.deepEqual((await findRules(exam)).rules, { ...inForce(denying({})), revision: 2 });
  },

  'a denied user keeps the slot to its end, renews nothing, and may return it': async (exam: ExamStore) => {
    const features = [exampleFeature('render')];
    await exam.install({ slots: 3, features, type: 'consumption', consumption: exampleLimits() });
    await exam.register('ada');
    await exam.registerFeature('ada');
    await exam.borrow('ann', plus(NOW, 20 * MINUTE_MS));
    await exam.register('abe');
    await deny(exam, { users: ['a*'] });
    exam.clock.advance(TIMEOUT_MS - 1);
    assert.equal(codeOf(await exam.register('ada')), 'blacklisted');
    assert.equal(codeOf(await exam.registerFeature('ada')), 'blacklisted');
    assert.equal(codeOf(await exam.borrow('ann', 'longest')), 'blacklisted');
    assert.equal(codeOf(await exam.consume(1, { user: 'ada' })), 'blacklisted');
    assert.deepEqual(await exam.listUsers(), ['abe', 'ada', 'ann']);
    assert.equal(codeOf(await exam.releaseFeature('ada')), 'done');
    assert.equal(codeOf(await exam.unregister('ada')), 'done');
    exam.clock.advance(1);
    assert.deepEqual(await exam.listUsers(), ['ann'], 'the one ended, the other is borrowed');
    assert.equal(codeOf(await exam.recall('ann')), 'done', 'administrators are not concerned');
  },

  'a denial is recorded with its origin, and repeats are counted': async (exam: ExamStore) => {
    const license = await exam.install();
    await deny(exam, { addresses: ['10.0.0.0/8'] });
    for (let round = 0; round < 5; round++) assert.equal(await ask(exam, 'ada', '10.0.0.9'), 'blacklisted');
    const events = await exam.listEventsOf('slot_denied', license.id);
    const why = { code: 'blacklisted', barred: 'address', barredBy: 'rules_file' };
    const by = { by: 'client', origin: '10.0.0.9' };
    assert.deepEqual(events, [{ kind: 'slot_denied', user: 'ada', ...why, repeated: 0, ...by }]);
    exam.clock.advance(MINUTE_MS);
    await exam.execute({ kind: 'collect', licenseId: license.id });
    const [folded] = await exam.listEventsOf('denials_repeated', license.id);
    assert.equal(folded?.repeated, 4);
  },

  'each change of the rules is a revision and an event; the same text again is neither': async (
    exam: ExamStore,
  ) => {
    assert.deepEqual(await findRules(exam), { rules: NO_RULES, applied: null });
    const rules = denying({ users: ['ada', 'bob'], hosts: ['h'] });
    await exam.execute({ ...setRules(rules), text: 'one\ntwo\n' });
    exam.clock.advance(1);
    const again = await exam.execute({ ...setRules(rules), text: 'one\ntwo\n' });
    assert.deepEqual(again, { kind: 'done', count: 0 });
    const first = { revision: 1, writtenIn: 1, ages: [], text: 'one\ntwo\n', by: 'server', at: NOW };
    assert.deepEqual((await findRules(exam)).applied, first);
    const second = { ...setRules(rules, 'admin'), text: 'two\nthree\n' };
    assert.deepEqual(await exam.execute(second), { kind: 'done', count: 2 });
    const later = { text: 'two\nthree\n', by: 'admin', at: plus(NOW, 1) };
    const applied = { revision: 2, writtenIn: 2, ages: [], ...later };
    assert.deepEqual(await findRules(exam), { rules: { ...inForce(rules), revision: 2 }, applied });
    assert.deepEqual(await exam.store.read({ kind: 'list_rules_revisions' }), [applied, first]);
    const events = await exam.listEventsOf('rules_changed', 'system');
    assert.deepEqual(
      events.map(({ revision, diff, by }) => [revision, diff, by]),
      [
        [1, ['+one', '+two'], 'server'],
        [2, ['-one', '+three'], 'admin'],
      ],
    );
  },

  'rules that were edited while others were applied are refused': async (exam: ExamStore) => {
    await deny(exam, { users: ['ada'] });
    const late = { ...setRules(denying({ users: ['bob'] })), basedOn: 0 };
    assert.equal(codeOf(await exam.execute(late)), 'rules_changed');
    assert.deepEqual((await findRules(exam)).rules, inForce(denying({ users: ['ada'] })));
    assert.equal(codeOf(await exam.execute({ ...late, basedOn: 1 })), 'done');
  },

  'what a directory tells is stored, and is a revision only if somebody joined or left': async (
    exam: ExamStore,
  ) => {
    await exam.install();
    const cad = { ...NO_NAMES, directory: { dn: 'cn=cad', members: ['ada'] } };
    await exam.execute({ ...setRules({ ...ruling({ allow: ['cad'] }), groups: { cad } }), text: 'one' });
    assert.equal(await ask(exam, 'bob', '::1'), 'blacklisted');
    const refresh = async (basedOn: number, answer: GroupAnswer) => {
      exam.clock.advance(MINUTE_MS);
      const outcome = await exam.execute({ kind: 'refresh_groups', basedOn, answers: [answer] });
      const { applied } = await findRules(exam);
      return [outcome.kind === 'done' && outcome.count, applied?.revision, applied?.by, applied?.ages];
    };
    const age = (minutes: number, problem: string | null = null) => [
      { dn: 'cn=cad', answeredAt: plus(NOW, minutes * MINUTE_MS), problem },
    ];
    const told = (...members: readonly string[]) => ({ dn: 'cn=cad', members });
    assert.deepEqual(await refresh(1, told('Ada')), [0, 1, 'server', age(1)]);
    const away = await refresh(1, { dn: 'cn=cad', problem: 'It is away.' });
    assert.deepEqual(away, [0, 1, 'server', age(1, 'It is away.')]);
    assert.deepEqual(await refresh(1, told('bob')), [2, 2, 'directory', age(3)]);
    assert.deepEqual(await refresh(1, told('eve')), [0, 2, 'directory', age(3)], 'for an earlier revision');
    assert.equal(await ask(exam, 'bob', '::1'), 'granted');
    assert.equal(await ask(exam, 'ada', '::1'), 'blacklisted');
    await exam.restart();
    assert.equal(await ask(exam, 'ada', '::1'), 'blacklisted');
    const events = await exam.listEventsOf('group_changed', 'system');
    assert.deepEqual(
      events.map(({ revision, group, joined, left, by }) => [revision, group, joined, left, by]),
      [
        [1, 'cad', ['ada'], [], 'directory'],
        [2, 'cad', ['bob'], ['ada'], 'directory'],
      ],
    );
  },

  'a directory that changes often does not displace what people wrote': async (exam: ExamStore) => {
    const cad = { ...NO_NAMES, directory: { dn: 'cn=cad', members: [] } };
    const named = { ...ruling({ allow: ['cad'] }), groups: { cad } };
    await exam.execute({ ...setRules(denying({})), text: 'one' });
    await exam.execute({ ...setRules(named), text: 'two' });
    for (let basedOn = 2; basedOn < 105; basedOn++) {
      const answers = [{ dn: 'cn=cad', members: [`user-${basedOn}`] }];
      await exam.execute({ kind: 'refresh_groups', basedOn, answers });
    }
    await exam.execute({ ...setRules(named), text: 'three', basedOn: 2 });
    const revisions = await exam.store.read({ kind: 'list_rules_revisions' });
    assert.deepEqual(
      revisions.map(({ revision, writtenIn, text }) => [revision, writtenIn, text]),
      [
        [106, 106, 'three'],
        [105, 2, 'two'],
        [2, 2, 'two'],
        [1, 1, 'one'],
      ],
    );
    const { rules } = await findRules(exam);
    assert.deepEqual(rules.set.groups.cad?.directory?.members, ['user-104']);
  },

  'housekeeping counts what is held, as soon as rules are set': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 5 });
    for (const user of ['ada', 'bob', 'cad-1']) await exam.register(user);
    const team = { ...NO_NAMES, users: ['ada', 'cad-*'] };
    const reserve = [{ line: 1, during: null, slots: 3, for: 'team' }];
    await exam.execute(setRules({ ...ruling({ reserve }), groups: { team } }));
    await exam.execute({ kind: 'collect', licenseId: license.id });
    const readCounts = async () => {
      const { counts } = await exam.store.read({ kind: 'list_rule_counts' });
      return counts.map(({ slots: _, ...facts }) => facts);
    };
    const held = (slots: readonly [string, number][]) => new Map([['', new Map(slots)]]);
    const both = held([
      ['team', 2],
      ['', 1],
    ]);
    assert.deepEqual(await readCounts(), [{ product: 'cad', revision: 1, held: both }]);
    await exam.unregister('ada');
    const one = held([
      ['team', 1],
      ['', 1],
    ]);
    assert.deepEqual(await readCounts(), [{ product: 'cad', revision: 1, held: one }]);
    await exam.restart();
    assert.deepEqual(await readCounts(), [{ product: 'cad', revision: 1, held: one }]);
    await exam.execute({ kind: 'collect', licenseId: license.id });
    await exam.execute(setRules(denying({ users: ['mallory'] })));
    await exam.execute({ kind: 'collect', licenseId: license.id });
    assert.deepEqual(await readCounts(), []);
  },

  'rules that cannot be recorded are not set, and affect no other command': async (exam: ExamStore) => {
    await exam.install({ slots: 100 });
    await deny(exam, { users: ['mallory'] });
    const broken = setRules(denying({ users: ['ada', 'user-*'] }), 10n as unknown as string);
    const outcomes = await Promise.allSettled(
      users(5).flatMap((user) => [exam.execute(broken), exam.register(user), exam.register('mallory')]),
    );
    for (const [index, outcome] of outcomes.entries()) {
      if (index % 3 === 0) assert.equal(outcome.status, 'rejected');
      else assert.ok(outcome.status === 'fulfilled');
      if (outcome.status === 'fulfilled') {
        assert.equal(codeOf(outcome.value), index % 3 === 1 ? 'granted' : 'blacklisted');
      }
    }
    assert.deepEqual((await findRules(exam)).rules, inForce(denying({ users: ['mallory'] })));
    assert.equal((await exam.listEventsOf('rules_changed', 'system')).length, 1);
  },
};

export function rulesRestartCases(again: 'restart' | 'crash') {
  return {
    'rules are in force at once when the store is opened again': async (exam: ExamStore) => {
      await exam.install();
      await deny(exam, { users: ['ada'] });
      const before = await findRules(exam);
      await exam[again](() => exam.clock.advance(MINUTE_MS));
      assert.deepEqual(await findRules(exam), before);
      assert.equal(codeOf(await exam.register('ada')), 'blacklisted');
      await deny(exam, {});
      await exam[again]();
      assert.equal(grantedOf(await exam.register('ada')).inUse, 1);
    },
  };
}
