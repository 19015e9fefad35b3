import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LicenseCommand } from '../../../src/core/command.ts';
import { decide } from '../../../src/core/decide.ts';
import { MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import type { Refused } from '../../../src/core/outcome.ts';
import type { RuleSet } from '../../../src/core/rules/rule-set.ts';
import { type Asker, NO_RULES, orNoRules, refuseByRules } from '../../../src/core/rules/rules.ts';
import { setRules as setRulesModule } from '../../../src/core/system/rules.ts';
import {
  borrow,
  consume,
  denying,
  exampleFeature,
  exampleFeatureSlot,
  exampleLicense,
  exampleLimits,
  exampleSlot,
  exampleView,
  inForce,
  NOW,
  readsOf,
  recall,
  register,
  registerFeature,
  release,
  releaseFeature,
  setRules,
  unregister,
  type ViewFacts,
} from '../examples.ts';

const BAR = { kind: 'user', pattern: 'x', note: null } as const;

function asker(facts: { user?: string | null; hostname?: string; claims?: string; from?: string }): Asker {
  const { user = 'ada', hostname = null, claims = null, from } = facts;
  const host = { hostname, address: claims, info: null };
  return { user, host, ...(from === undefined ? {} : { by: { name: 'client', address: from } }) };
}

function barredAs(set: RuleSet, facts: Parameters<typeof asker>[0]): unknown {
  return refuseByRules(inForce(set), asker(facts), 'cad', null)?.details.barred ?? null;
}

describe('who is denied', () => {
  test('nobody, if there are no rules or they are empty', () => {
    const everybody = { hostname: 'h', claims: '10.0.0.1', from: '10.0.0.1' };
    assert.equal(refuseByRules(NO_RULES, asker(everybody), 'cad', null), null);
    assert.equal(barredAs(denying({}), everybody), null);
    assert.equal(orNoRules({ ...NO_RULES }), NO_RULES);
    for (const some of [inForce(denying({})), { ...NO_RULES, bars: [BAR] }]) {
      assert.equal(orNoRules(some), some);
    }
  });

  test('a user by name, in any case, and by a pattern', () => {
    const rules = denying({ users: ['Mallory', 'ext-*'] });
    for (const user of ['mallory', ' MALLORY ', 'ext-1']) assert.equal(barredAs(rules, { user }), 'user');
    for (const user of ['mallory2', 'text-1', null]) assert.equal(barredAs(rules, { user }), null);
    assert.equal(barredAs(rules, { hostname: 'mallory' }), null, 'a host is no user');
  });

  test('by lists of the same length of every kind', () => {
    const lists = { users: ['x'], hosts: ['lab-1'], addresses: ['10.1.0.0/16'], groups: ['nobody'] };
    const everybody = { user: 'x', hostname: 'lab-1', from: '10.1.0.1' };
    for (const one of ['users', 'hosts', 'addresses'] as const) {
      for (const other of ['users', 'hosts', 'addresses', 'groups'] as const) {
        const rules = denying({ [one]: lists[one], [other]: lists[other] });
        assert.notEqual(barredAs(rules, everybody), null, `${one} and ${other}`);
      }
    }
  });

  test('a host by name, even if it stands for the user', () => {
    const rules = denying({ hosts: ['lab-*'] });
    assert.equal(barredAs(rules, { hostname: 'LAB-3' }), 'host');
    assert.equal(barredAs(rules, { user: 'lab-3', hostname: 'lab-3' }), 'host');
    assert.equal(barredAs(rules, { user: 'lab-3' }), null, 'a user is no host');
    assert.equal(barredAs(denying({ users: ['lab-*'] }), { user: 'lab-3', hostname: 'lab-3' }), 'user');
  });

  test('an address, of the connection or as sent', () => {
    const rules = denying({ addresses: ['10.1.0.0/16', '192.0.2.7', '2001:db8::/32'] });
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.7', '2001:DB8::1']) {
      assert.equal(barredAs(rules, { from: address }), 'address', address);
      assert.equal(barredAs(rules, { claims: ` ${address} `, from: '203.0.113.1' }), 'address', address);
    }
    for (const address of ['10.2.0.1', '192.0.2.8', '2001:db9::1', 'desk', '', 'control']) {
      assert.equal(barredAs(rules, { claims: address, from: address }), null, address);
    }
    assert.equal(barredAs(denying({ addresses: ['fe80::/10'] }), { from: 'fe80::1%eth0' }), 'address');
  });

  test('is told what is barred, and whom to ask', () => {
    const refusal = refuseByRules(inForce(denying({ users: ['a*'] })), asker({}), 'cad', null);
    assert.deepEqual(refusal, {
      kind: 'refused',
      code: 'blacklisted',
      message: 'The user "ada" is barred on this license server. Ask its administrator.',
      details: { barred: 'user' },
      recorded: { barred: 'user', barredBy: 'rules_file' },
    });
  });
});

const RULES = inForce(denying({ users: ['ada'] }));
const LICENSE = exampleLicense({
  type: 'consumption',
  consumption: exampleLimits(),
  features: [exampleFeature('render')],
});

const HELD: ViewFacts = {
  license: LICENSE,
  rules: RULES,
  slots: [exampleSlot('ada')],
  featureSlots: [exampleFeatureSlot('ada')],
  meter: { feature: 'render' },
};

function codeOf(command: LicenseCommand, facts: ViewFacts): string {
  const { outcome } = decide(command, exampleView(facts, 'ada'), NOW);
  return outcome.kind === 'refused' ? outcome.code : outcome.kind;
}

describe('a denied user', () => {
  test('gets nothing, and renews nothing that they hold', () => {
    const nothing = { license: LICENSE, rules: RULES };
    for (const facts of [nothing, HELD]) {
      assert.equal(codeOf(register('ada'), facts), 'blacklisted');
      assert.equal(codeOf(borrow('ada', 'longest'), facts), 'blacklisted');
      assert.equal(codeOf(consume(1, { user: 'ada' }), { ...facts, meter: {} }), 'blacklisted');
      assert.equal(codeOf(registerFeature('ada'), facts), 'blacklisted');
      assert.equal(codeOf(register('bob'), facts), 'granted');
    }
    const host = { hostname: 'lab-3', address: null, info: null };
    const byHost = { ...HELD, rules: inForce(denying({ hosts: ['lab-3'] })) };
    assert.equal(codeOf(registerFeature('ada', { host }), byHost), 'blacklisted');
  });

  test('can return what they hold, and an operator can release it', () => {
    const borrowed = { ...HELD, slots: [exampleSlot('ada', { borrowedUntil: plus(NOW, MINUTE_MS) })] };
    assert.equal(codeOf(unregister('ada'), HELD), 'done');
    assert.equal(codeOf(releaseFeature('ada'), HELD), 'done');
    assert.equal(codeOf(release('ada'), HELD), 'done');
    assert.equal(codeOf(recall('ada'), borrowed), 'done');
  });

  test('keeps the slot until its own end', () => {
    const { changes } = decide(register('ada'), exampleView(HELD, 'ada'), NOW);
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ['put_denial'],
    );
  });

  test('gets refusals of the license first, and all others later', () => {
    const disabled = { ...HELD, license: { ...LICENSE, enabled: false } };
    const small = { ...LICENSE, slots: 0, maxBorrowHours: 0 };
    const full = { ...HELD, license: small, slots: [] };
    for (const command of [register('ada'), borrow('ada', 'unreadable'), registerFeature('ada')]) {
      assert.equal(codeOf(command, disabled), 'license_not_enabled');
      assert.equal(codeOf(command, full), 'blacklisted');
    }
    const unknown = registerFeature('ada', { feature: 'none' });
    assert.equal(codeOf(unknown, HELD), 'blacklisted');
    const plenty = consume(1e6, { user: 'ada' });
    assert.equal(codeOf(plenty, { ...HELD, meter: {} }), 'blacklisted');
  });

  test('gets the first answer again for a request that was counted before', () => {
    const { outcome } = decide(consume(1), exampleView({ license: LICENSE, meter: {} }, null), NOW);
    assert.ok(outcome.kind === 'measured');
    const key = { operation: 'add_consumption', user: 'ada', key: 'k' };
    const rememberedAnswer = { ...key, bodyHash: 'b', answeredAt: NOW, outcome };
    const repeated = consume(1, { user: 'ada', idempotency: { key: 'k', bodyHash: 'b' } });
    assert.equal(codeOf(repeated, { ...HELD, meter: {}, rememberedAnswer }), 'measured');
  });

  test('is recorded, with repeats counted', () => {
    const by = { name: 'client', address: '192.0.2.1' };
    for (const command of [register('ada'), consume(1, { user: 'ada' }), registerFeature('ada')]) {
      const facts = command.kind === 'add_consumption' ? { ...HELD, meter: {} } : HELD;
      const view = exampleView(facts, 'ada');
      assert.deepEqual(readsOf(command, view).listDenials, ['ada'], 'earlier denials are asked for');
      const { events, changes } = decide({ ...command, by }, view, NOW);
      const [event] = events;
      assert.ok(event?.kind === 'slot_denied' || event?.kind === 'consumption_denied');
      assert.deepEqual([event.user, event.code, event.by], ['ada', 'blacklisted', by]);
      const denials = changes.flatMap((change) => (change.kind === 'put_denial' ? [change.denial] : []));
      const again = decide(command, exampleView({ ...facts, denials }, 'ada'), plus(NOW, 1));
      assert.deepEqual(again.events, []);
      assert.equal((again.outcome as Refused).code, 'blacklisted');
    }
  });
});

describe('setting rules', () => {
  const first = setRules(denying({ users: ['ada'] }));
  const text = 'deny:\n  users: [ada]\n';
  const NONE = { rules: NO_RULES, written: null };
  const FIRST = { rules: inForce(first.rules), written: { text, writtenIn: 1, ages: [] } };

  test('records the revision, who it was, and what has changed', () => {
    const { outcome, changes, events } = setRulesModule.decide({ ...first, text }, NONE, NOW);
    assert.deepEqual(outcome, { kind: 'done', count: 1 });
    const put = {
      kind: 'put_rules',
      rules: first.rules,
      revision: 1,
      text,
      writtenIn: 1,
      ages: [],
      by: 'server',
    };
    assert.deepEqual(changes, [put]);
    const diff = ['+deny:', '+  users: [ada]'];
    assert.deepEqual(events, [{ kind: 'rules_changed', revision: 1, diff, by: 'server' }]);
  });

  test('to the same text is no change and no event; a new comment is a revision', () => {
    const { outcome, changes, events } = setRulesModule.decide({ ...first, text }, FIRST, NOW);
    assert.deepEqual([outcome, changes, events], [{ kind: 'done', count: 0 }, [], []]);
    const commented = setRulesModule.decide({ ...first, text: `${text}# left\n` }, FIRST, NOW);
    assert.deepEqual(commented.outcome, { kind: 'done', count: 2 });
  });

  test('is refused if others were applied while they were edited', () => {
    const edited = { ...first, text: 'deny: {}' };
    const { outcome, changes, events } = setRulesModule.decide({ ...edited, basedOn: 0 }, FIRST, NOW);
    assert.ok(outcome.kind === 'refused');
    assert.deepEqual([outcome.code, outcome.details], ['rules_changed', { revision: 1 }]);
    assert.deepEqual([changes, events], [[], []]);
    assert.equal(setRulesModule.decide({ ...edited, basedOn: 1 }, FIRST, NOW).events.length, 1);
  });
});
