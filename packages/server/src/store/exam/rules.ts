import assert from 'node:assert/strict';
import { denying, exampleFeature, exampleLimits, NOW, register } from '../../core/examples.ts';
import type { Visitor } from '../../core/nouns/actor.ts';
import { MINUTE_MS, plus } from '../../core/nouns/instant.ts';
import type { HostInfo } from '../../core/nouns/registration.ts';
import { type DenyList, NO_RULES, type Rules } from '../../core/rules/rules.ts';
import { type Bench, codeOf, grantedOf, users } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;

function setRules(rules: Rules, by = 'server') {
  return { kind: 'set_rules', rules, digest: JSON.stringify(rules.deny), by } as const;
}

export function deny(bench: Bench, list: Partial<DenyList>) {
  return bench.execute(setRules(denying(list)));
}

function findRules(bench: Bench) {
  return bench.store.read({ kind: 'find_rules' });
}

/** From an address, on a host that has a name and says where it is. */
async function ask(bench: Bench, user: string, from: string, host: Partial<HostInfo> = {}): Promise<string> {
  const by: Visitor = { name: 'client', address: from };
  const full = { hostname: null, address: null, info: null, ...host };
  return codeOf(await bench.execute({ ...register(user, {}, full), by }));
}

/** The administrator's rules. */
export const RULES = {
  'users, hosts and addresses that are denied get no slot, and others do': async (bench: Bench) => {
    await bench.install({ slots: 100 });
    await deny(bench, {
      users: ['mallory', 'ext-*'],
      hosts: ['lab-*.example'],
      addresses: ['10.0.0.0/8', '2001:db8::1'],
    });
    assert.equal(await ask(bench, 'Mallory', '192.0.2.1'), 'blacklisted');
    assert.equal(await ask(bench, 'ext-7', '192.0.2.1'), 'blacklisted');
    assert.equal(await ask(bench, 'a', '192.0.2.1', { hostname: 'LAB-9.example' }), 'blacklisted');
    assert.equal(await ask(bench, 'b', '10.200.0.1'), 'blacklisted');
    assert.equal(await ask(bench, 'c', '2001:db8:0::1'), 'blacklisted');
    assert.equal(await ask(bench, 'd', '192.0.2.1', { address: '10.1.1.1' }), 'blacklisted');
    assert.equal(
      await ask(bench, 'e', '192.0.2.1', { hostname: 'lab.example', address: '11.0.0.1' }),
      'granted',
    );
    assert.deepEqual(await bench.listUsers(), ['e']);
  },

  'rules hold from the next command on, for every license': async (bench: Bench) => {
    await bench.install({ product: 'cad' });
    const before = await bench.register('ada');
    const set = await deny(bench, { users: ['a*'] });
    const after = await bench.register('ann');
    const lifted = await deny(bench, {});
    const again = await bench.register('ann');
    assert.deepEqual([before, set, after, lifted, again].map(codeOf), [
      'granted',
      'done',
      'blacklisted',
      'done',
      'granted',
    ]);
    assert.deepEqual((await findRules(bench)).rules, NO_RULES);
  },

  'who is denied keeps the slot to its end, renews nothing, and may give back': async (bench: Bench) => {
    const features = [exampleFeature('render')];
    await bench.install({ slots: 3, features, type: 'consumption', consumption: exampleLimits() });
    await bench.register('ada');
    await bench.registerFeature('ada');
    await bench.borrow('ann', plus(NOW, 20 * MINUTE_MS));
    await bench.register('abe');
    await deny(bench, { users: ['a*'] });
    bench.clock.advance(TIMEOUT_MS - 1);
    assert.equal(codeOf(await bench.register('ada')), 'blacklisted');
    assert.equal(codeOf(await bench.registerFeature('ada')), 'blacklisted');
    assert.equal(codeOf(await bench.borrow('ann', 'longest')), 'blacklisted');
    assert.equal(codeOf(await bench.consume(1, { user: 'ada' })), 'blacklisted');
    assert.deepEqual(await bench.listUsers(), ['abe', 'ada', 'ann']);
    assert.equal(codeOf(await bench.releaseFeature('ada')), 'done');
    assert.equal(codeOf(await bench.unregister('ada')), 'done');
    bench.clock.advance(1);
    assert.deepEqual(await bench.listUsers(), ['ann'], 'the one ended, the other is borrowed');
    assert.equal(codeOf(await bench.recall('ann')), 'done', 'administrators are not concerned');
  },

  'a denial is recorded with its origin, and repeats are counted': async (bench: Bench) => {
    const license = await bench.install();
    await deny(bench, { addresses: ['10.0.0.0/8'] });
    for (let round = 0; round < 5; round++) assert.equal(await ask(bench, 'ada', '10.0.0.9'), 'blacklisted');
    const events = await bench.listEventsOf('slot_denied', license.id);
    const by = { by: 'client', origin: '10.0.0.9' };
    assert.deepEqual(events, [{ kind: 'slot_denied', user: 'ada', code: 'blacklisted', repeated: 0, ...by }]);
    bench.clock.advance(MINUTE_MS);
    await bench.execute({ kind: 'collect', licenseId: license.id });
    const [folded] = await bench.listEventsOf('denials_repeated', license.id);
    assert.equal(folded?.repeated, 4);
  },

  'each change of the rules is one event; the same rules again are none': async (bench: Bench) => {
    assert.deepEqual(await findRules(bench), { rules: NO_RULES, changedAt: null });
    await deny(bench, {});
    assert.equal((await findRules(bench)).changedAt, null, 'none are none');
    await deny(bench, { users: ['ada', 'bob'], hosts: ['h'] });
    bench.clock.advance(1);
    const same = await deny(bench, { users: ['ada', 'bob'], hosts: ['h'] });
    assert.deepEqual(same, { kind: 'done', count: 0 });
    assert.equal((await findRules(bench)).changedAt, NOW);
    await deny(bench, { users: ['bob', 'ada'], hosts: ['h'] });
    assert.equal((await findRules(bench)).changedAt, plus(NOW, 1));
    const events = await bench.listEventsOf('rules_changed', 'system');
    assert.deepEqual(
      events.map((event) => [event.users, event.hosts, event.addresses, event.by]),
      [
        [2, 1, 0, 'server'],
        [2, 1, 0, 'server'],
      ],
    );
    assert.equal(new Set(events.map(({ digest }) => digest)).size, 2);
  },

  'rules whose record cannot be written are not set, and harm nobody beside them': async (bench: Bench) => {
    await bench.install({ slots: 100 });
    await deny(bench, { users: ['mallory'] });
    const broken = setRules(denying({ users: ['ada', 'user-*'] }), 10n as unknown as string);
    const outcomes = await Promise.allSettled(
      users(5).flatMap((user) => [bench.execute(broken), bench.register(user), bench.register('mallory')]),
    );
    for (const [index, outcome] of outcomes.entries()) {
      if (index % 3 === 0) assert.equal(outcome.status, 'rejected');
      else assert.ok(outcome.status === 'fulfilled');
      if (outcome.status === 'fulfilled') {
        assert.equal(codeOf(outcome.value), index % 3 === 1 ? 'granted' : 'blacklisted');
      }
    }
    assert.deepEqual((await findRules(bench)).rules, denying({ users: ['mallory'] }));
    assert.equal((await bench.listEventsOf('rules_changed', 'system')).length, 1);
  },
};

export function rulesRestartCases(again: 'restart' | 'crash') {
  return {
    'rules are in force at once when the store is opened again': async (bench: Bench) => {
      await bench.install();
      await deny(bench, { users: ['ada'] });
      const before = await findRules(bench);
      await bench[again](() => bench.clock.advance(MINUTE_MS));
      assert.deepEqual(await findRules(bench), before);
      assert.equal(codeOf(await bench.register('ada')), 'blacklisted');
      await deny(bench, {});
      await bench[again]();
      assert.equal(grantedOf(await bench.register('ada')).inUse, 1);
    },
  };
}
