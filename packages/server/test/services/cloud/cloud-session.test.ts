import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Cloud, CloudReply } from '../../../src/cloud/cloud.ts';
import { CloudFault, UNPROVEN } from '../../../src/cloud/cloud.ts';
import { instant } from '../../../src/core/nouns/instant.ts';
import { createCloudSession } from '../../../src/services/cloud/cloud-session.ts';
import { LinkState } from '../../../src/services/cloud/link-state.ts';

const CLOUD = {} as Cloud;
const KEYS = { apiKey: 'a', sharedKey: 's' };

function open(cloud: Cloud | null, keys: { apiKey: string | null; sharedKey: string | null } = KEYS) {
  const state = new LinkState(
    () => instant(1),
    () => {},
  );
  return {
    state,
    session: createCloudSession({
      cloud,
      readKeys: async () => keys,
      state,
      hold: { admit: async () => {} },
      requireHome: async () => {},
    }),
  };
}

const answer = async (): Promise<CloudReply<number>> => ({ kind: 'ok', value: 5, isBound: true });

describe('what prevents requests to the cloud', () => {
  const OBSTACLES = [
    { cloud: null, keys: KEYS, obstacle: 'not_configured', code: 'cloud_not_configured', says: /cloud\.url/ },
    {
      cloud: CLOUD,
      keys: { apiKey: null, sharedKey: 's' },
      obstacle: 'no_keys',
      code: 'cloud_keys_missing',
      says: /^The API key .* "berth key set"/,
    },
    {
      cloud: CLOUD,
      keys: { apiKey: 'a', sharedKey: null },
      obstacle: 'no_keys',
      code: 'cloud_keys_missing',
      says: /^The shared key .* "berth key set"/,
    },
  ];

  for (const { cloud, keys, obstacle, code, says } of OBSTACLES) {
    test(`${code}: ${says}`, async () => {
      const { session, state } = open(cloud, keys);
      assert.equal(await session.findObstacle(), obstacle);
      await assert.rejects(session.ask(1, answer), { code, message: says });
      assert.equal(state.describe().state, 'untried', 'that is no failure of the cloud');
    });
  }
});

describe('the result of a request', () => {
  test('is returned, with the keys that are set', async () => {
    const { session, state } = open(CLOUD);
    assert.equal(await session.findObstacle(), null);
    const reply = await session.ask(1, async (cloud, keys) => {
      assert.deepEqual([cloud, keys], [CLOUD, KEYS]);
      return answer();
    });
    assert.deepEqual(reply, { kind: 'ok', value: 5, isBound: true });
    assert.equal(state.describe().state, 'ok');
  });

  test('is remembered: refused keys, other refusals, faults', async () => {
    const { session, state } = open(CLOUD);
    const refuse = (code: string) => async (): Promise<CloudReply<never>> => ({
      kind: 'refused',
      code,
      message: 'No.',
      ...UNPROVEN,
    });
    await session.ask(1, refuse('invalid_api_key'));
    assert.equal(state.describe().state, 'refused');
    await session.ask(1, refuse('license_expired'));
    assert.equal(state.describe().state, 'ok');
    const fault = new CloudFault('timeout', 'It is slow.', { mayHaveArrived: true });
    await assert.rejects(
      session.ask(1, () => Promise.reject(fault)),
      fault,
    );
    assert.deepEqual([state.describe().state, state.isFailing], ['failing', true]);
  });

  test('is reported without the keys, whatever the cloud says', async () => {
    const { session, state } = open(CLOUD, { apiKey: 'api-4711', sharedKey: 'shared-4711' });
    const message = 'The key api-4711 with shared-4711 is unknown.';
    const refusal = { kind: 'refused', code: 'invalid_api_key', message, ...UNPROVEN } as const;
    const reply = await session.ask(1, async (): Promise<CloudReply<never>> => refusal);
    assert.equal(reply.kind === 'refused' && reply.message, 'The key … with … is unknown.');
    assert.doesNotMatch(JSON.stringify(state.describe()), /4711/);
  });

  for (const apiKey of ['ключ', 'a"b', 'a\u2028b']) {
    test(`the key ${JSON.stringify(apiKey)} cannot be sent, and is refused like a wrong one`, async () => {
      const { session, state } = open(CLOUD, { apiKey, sharedKey: 's' });
      const reply = await session.ask(1, () => assert.fail());
      assert.equal(reply.kind === 'refused' && reply.code, 'invalid_api_key');
      assert.equal(state.describe().state, 'refused');
    });
  }

  test('is refused in a process that must not act for the server', async () => {
    const state = new LinkState(
      () => instant(1),
      () => {},
    );
    const away = new Error('Not here.');
    const requireHome = () => Promise.reject(away);
    const session = createCloudSession({
      cloud: CLOUD,
      readKeys: async () => KEYS,
      state,
      hold: { admit: () => assert.fail() },
      requireHome,
    });
    await assert.rejects(
      session.ask(1, () => assert.fail()),
      away,
    );
  });

  test('is not remembered if the bug is ours', async () => {
    const { session, state } = open(CLOUD);
    const bug = new Error('A bug.');
    await assert.rejects(
      session.ask(1, () => Promise.reject(bug)),
      bug,
    );
    assert.equal(state.describe().state, 'untried');
  });
});
