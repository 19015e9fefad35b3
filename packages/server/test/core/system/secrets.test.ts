import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  refuseRotation,
  rotateMasterKey,
  setCloudKeys,
  setWebhookSecret,
} from '../../../src/core/system/secrets.ts';

describe('the keys for the licensing cloud', () => {
  const fingerprints = { apiKey: '11111111', sharedKey: '22222222' };
  const command = { kind: 'set_cloud_keys', fingerprints, by: 'ada' } as const;
  const keys = { apiKey: 'secret one', sharedKey: 'secret two' };

  test('are set together, and reported by their fingerprints', () => {
    const { outcome, changes, events } = setCloudKeys.decide({ ...command, ...keys });
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

  test('can be set one by one, and the unchanged one is not reported', () => {
    const { changes, events } = setCloudKeys.decide({ ...command, ...keys, apiKey: null });
    assert.deepEqual(changes, [{ kind: 'put_secret', name: 'cloud_shared_key', secret: 'secret two' }]);
    const [event] = events;
    assert.ok(event?.kind === 'cloud_keys_set');
    assert.deepEqual(event.changed, ['shared_key']);
    assert.equal(event.apiKeyFingerprint, null);
    const none = setCloudKeys.decide({ ...command, apiKey: null, sharedKey: null });
    assert.deepEqual(none, { outcome: { kind: 'done', count: 0 }, changes: [], events: [] });
  });
});

describe('the master key', () => {
  const newKey = Uint8Array.of(1, 2, 3);
  const command = { kind: 'rotate_master_key', newKey, newFingerprint: 'new', by: 'ada' } as const;

  test('is replaced, and reported by the two fingerprints', () => {
    const decision = rotateMasterKey.decide(command, { masterKeyFingerprint: 'old' });
    assert.deepEqual(decision, {
      outcome: { kind: 'done', count: 1 },
      changes: [{ kind: 'reseal_secrets', newKey }],
      events: [{ kind: 'master_key_rotated', from: 'old', to: 'new', by: 'ada' }],
    });
  });

  test('is not replaced by itself', () => {
    const decision = rotateMasterKey.decide(command, { masterKeyFingerprint: 'new' });
    assert.deepEqual(decision, { outcome: { kind: 'done', count: 0 }, changes: [], events: [] });
  });

  test('is not replaced while other servers use it', () => {
    assert.equal(refuseRotation(0), null);
    assert.match(refuseRotation(1)?.message ?? '', /^1 other server uses this database/);
    assert.match(refuseRotation(2)?.message ?? '', /^2 other servers use this database/);
  });
});

test('a secret of the webhook is one change', () => {
  const command = { kind: 'set_webhook_secret', secret: 's', fingerprint: 'f', by: 'ada' } as const;
  assert.deepEqual(setWebhookSecret.decide(command).outcome, { kind: 'done', count: 1 });
});
