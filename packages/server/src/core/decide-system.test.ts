import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decideSystem } from './decide-system.ts';
import { NOW } from './examples.ts';

const NOTHING = {
  account: null,
  isSetUp: false,
  administrators: 0,
  token: null,
  usageSequence: 0,
  masterKeyFingerprint: null,
  notedValue: null,
  webhookCursor: null,
};

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
