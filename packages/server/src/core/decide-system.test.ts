import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decideSystem, isTokenAlive, TOKEN_LIFETIME_MS } from './decide-system.ts';
import { NOW } from './examples.ts';
import { HOUR_MS, type Instant, plus } from './instant.ts';

const NOTHING = {
  accountExists: false,
  tokenUsedAt: null,
  usageSequence: 0,
  masterKeyFingerprint: null,
  notedValue: null,
};

describe('accounts', () => {
  const command = {
    kind: 'create_account',
    name: 'ada',
    role: 'admin',
    passwordHash: 'hash',
    oneTime: true,
    by: 'server',
  } as const;

  test('are created once; again changes nothing', () => {
    const { outcome, changes, events } = decideSystem(command, NOTHING, NOW);
    assert.deepEqual(outcome, { kind: 'done', count: 1 });
    assert.deepEqual(changes, [
      { kind: 'put_account', name: 'ada', role: 'admin', passwordHash: 'hash', oneTime: true },
    ]);
    assert.deepEqual(events, [{ kind: 'account_created', account: 'ada', role: 'admin', by: 'server' }]);
    assert.ok(!JSON.stringify(events).includes('hash'), 'no hash in the audit');
    const again = decideSystem(command, { ...NOTHING, accountExists: true }, NOW);
    assert.deepEqual(again, { outcome: { kind: 'done', count: 0 }, changes: [], events: [] });
  });
});

describe('signing in', () => {
  const command = { kind: 'sign_in', account: 'ada', address: '10.0.0.1' } as const;

  test('with a wrong password leaves an event and no token', () => {
    assert.deepEqual(decideSystem({ ...command, tokenHash: null }, NOTHING, NOW), {
      outcome: { kind: 'done', count: 0 },
      changes: [],
      events: [{ kind: 'sign_in_failed', account: 'ada', address: '10.0.0.1' }],
    });
  });

  test('stores the token, and removes those that nobody can use any more', () => {
    const { changes, events } = decideSystem({ ...command, tokenHash: 'token' }, NOTHING, NOW);
    assert.deepEqual(changes, [
      { kind: 'remove_tokens', lastUsedBy: plus(NOW, -TOKEN_LIFETIME_MS) },
      { kind: 'put_token', tokenHash: 'token', account: 'ada' },
    ]);
    assert.deepEqual(events, [{ kind: 'signed_in', account: 'ada', address: '10.0.0.1' }]);
  });
});

describe('tokens', () => {
  test('live for thirty days after their last use', () => {
    assert.equal(isTokenAlive(NOW, plus(NOW, TOKEN_LIFETIME_MS - 1)), true);
    assert.equal(isTokenAlive(NOW, plus(NOW, TOKEN_LIFETIME_MS)), false);
  });

  const cases: [string, Instant | null, number][] = [
    ['that were just used cost no write', plus(NOW, 1 - HOUR_MS), 0],
    ['that were used an hour ago are touched', plus(NOW, -HOUR_MS), 1],
    ['that nobody knows are not', null, 0],
  ];
  for (const [title, tokenUsedAt, count] of cases) {
    test(title, () => {
      const command = { kind: 'use_token', tokenHash: 'token' } as const;
      const decision = decideSystem(command, { ...NOTHING, tokenUsedAt }, NOW);
      assert.deepEqual(decision.outcome, { kind: 'done', count });
      assert.equal(decision.changes.length, count);
      assert.deepEqual(decision.events, []);
    });
  }
});

test('the life of the server is recorded as it is told', () => {
  const event = { kind: 'server_started', version: '1.2.3' } as const;
  const { outcome, changes, events } = decideSystem({ kind: 'record_event', event }, NOTHING, NOW);
  assert.deepEqual([outcome, changes, events], [{ kind: 'done', count: 1 }, [], [event]]);
});

describe('the keys for the licensing cloud', () => {
  const fingerprints = { apiKey: '11111111', sharedKey: '22222222' };
  const command = { kind: 'set_cloud_keys', fingerprints, by: 'ada' } as const;
  const keys = { apiKey: 'secret one', sharedKey: 'secret two' };

  test('are set together, and told by their fingerprints', () => {
    const { outcome, changes, events } = decideSystem({ ...command, ...keys }, NOTHING, NOW);
    assert.deepEqual(outcome, { kind: 'done', count: 2 });
    assert.deepEqual(changes, [
      { kind: 'put_secret', name: 'cloud_api_key', secret: 'secret one' },
      { kind: 'put_secret', name: 'cloud_shared_key', secret: 'secret two' },
    ]);
    assert.deepEqual(events, [
      {
        kind: 'cloud_keys_set',
        changed: ['api_key', 'shared_key'],
        apiKeyFingerprint: '11111111',
        sharedKeyFingerprint: '22222222',
        by: 'ada',
      },
    ]);
  });

  test('are left alone one by one, and nothing is told of the one that is', () => {
    const { changes, events } = decideSystem({ ...command, ...keys, apiKey: null }, NOTHING, NOW);
    assert.deepEqual(changes, [{ kind: 'put_secret', name: 'cloud_shared_key', secret: 'secret two' }]);
    const [event] = events;
    assert.ok(event?.kind === 'cloud_keys_set');
    assert.deepEqual(event.changed, ['shared_key']);
    assert.equal(event.apiKeyFingerprint, null);
    const none = decideSystem({ ...command, apiKey: null, sharedKey: null }, NOTHING, NOW);
    assert.deepEqual(none, { outcome: { kind: 'done', count: 0 }, changes: [], events: [] });
  });
});

describe('the master key', () => {
  const newKey = Uint8Array.of(1, 2, 3);
  const command = { kind: 'rotate_master_key', newKey, newFingerprint: 'new', by: 'ada' } as const;

  test('is replaced, and told by the two fingerprints', () => {
    const decision = decideSystem(command, { ...NOTHING, masterKeyFingerprint: 'old' }, NOW);
    assert.deepEqual(decision, {
      outcome: { kind: 'done', count: 1 },
      changes: [{ kind: 'reseal_secrets', newKey }],
      events: [{ kind: 'master_key_rotated', from: 'old', to: 'new', by: 'ada' }],
    });
  });

  test('is not replaced by itself', () => {
    const decision = decideSystem(command, { ...NOTHING, masterKeyFingerprint: 'new' }, NOW);
    assert.deepEqual(decision, { outcome: { kind: 'done', count: 0 }, changes: [], events: [] });
  });
});
