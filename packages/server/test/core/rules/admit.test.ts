import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Asking, refuseByAccess } from '../../../src/core/rules/admit.ts';
import { NO_RULES, refuseByRules } from '../../../src/core/rules/rules.ts';
import { parseRules } from '../../../src/services/rules/parse-rules.ts';
import { denying } from '../examples.ts';

function refusalOf(text: string, facts: Partial<Asking>, feature: string | null = null) {
  const parsed = parseRules(text);
  assert.ok(!('errors' in parsed), JSON.stringify(parsed));
  const asking = { user: 'ada', hostname: null, address: null, claimedAddress: null, ...facts };
  return refuseByAccess(parsed.rules, asking, 'cad', feature);
}

describe('deny for everything', () => {
  test('answers as ever, so that no client notices the new rules', () => {
    const deny = { users: ['ada'], hosts: ['lab-*'], addresses: ['10.0.0.0/8'] };
    const text = `deny: ${JSON.stringify(deny)}`;
    for (const { user, hostname, claimed } of [
      { user: 'Ada', hostname: null, claimed: null },
      { user: 'bob', hostname: 'lab-1', claimed: null },
      { user: 'bob', hostname: null, claimed: '10.1.2.3' },
    ]) {
      const host = { hostname, address: claimed, info: null };
      const before = refuseByRules(
        { ...NO_RULES, set: denying(deny), revision: 1 },
        { user, host },
        'cad',
        null,
      );
      assert.notEqual(before, null);
      assert.deepEqual(refusalOf(text, { user, hostname, claimedAddress: claimed }), before);
    }
  });

  test('refuses members of a group, whose address is that of the connection', () => {
    const text = 'groups: { lab: { addresses: [10.0.0.0/8] } }\ndeny: { groups: [lab] }';
    const message = 'Members of lab are barred on this license server. Ask its administrator.';
    const refused = refusalOf(text, { address: '10.1.2.3' });
    assert.deepEqual(refused, {
      kind: 'refused',
      code: 'blacklisted',
      message,
      details: { rule: 'deny lab' },
    });
    assert.equal(refusalOf(text, { claimedAddress: '10.1.2.3' }), null);
  });

  test('counts a request without a user as nobody', () => {
    assert.equal(refusalOf('deny: { users: ["*"] }', { user: null }), null);
  });
});

describe('rules of a product', () => {
  test('name the product or its feature, and the rule', () => {
    const text =
      'products: { cad: { deny: { users: [bob] }, features: { render: { deny: { users: [ada] } } } } }';
    assert.equal(refusalOf(text, {}), null);
    const message = 'The user "ada" may not use "render". Ask your administrator (rule: deny by user).';
    assert.deepEqual(refusalOf(text, {}, 'render'), {
      kind: 'refused',
      code: 'blacklisted',
      message,
      details: { barred: 'user', rule: 'deny by user' },
      recorded: { barred: 'user', barredBy: 'rules_file' },
    });
    assert.match(refusalOf(text, { user: 'bob' }, 'render')?.message ?? '', /may not use "cad"/);
  });

  test('say for whom a product is, with a few names', () => {
    const names = Array.from({ length: 10 }, (_, index) => `g${index}`);
    const groups = names.map((name) => `${name}: {}`).join(', ');
    const text = (allow: readonly string[]) =>
      `groups: { ${groups} }\nproducts: { cad: { allow: [${allow}] } }`;
    const messageOf = (allow: readonly string[]) => refusalOf(text(allow), {})?.message;
    assert.equal(messageOf([]), 'Nobody may use "cad". Ask your administrator (rule: allow nobody).');
    assert.equal(
      messageOf(['g1', 'g2']),
      '"cad" is for g1 and g2 only. Ask your administrator (rule: allow g1, g2).',
    );
    assert.match(messageOf(names) ?? '', /g6, g7 and 2 other groups only/);
  });
});
