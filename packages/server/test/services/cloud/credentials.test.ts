import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestError } from '@berth/protocol/request-error';
import { openTestStore, readEvents } from '../../../../../test/support/test-app.ts';
import { secretFingerprint } from '../../../src/secrets/seal.ts';
import { createCredentials } from '../../../src/services/cloud/credentials.ts';

const API = secretFingerprint('cloud_api_key', 'one');
const SHARED = secretFingerprint('cloud_shared_key', 'two');

test('keys are set one by one or together, and described by their fingerprints', async (t) => {
  const { store } = await openTestStore(t);
  const credentials = createCredentials(store);
  const nothing = { apiKeyFingerprint: null, sharedKeyFingerprint: null };
  assert.deepEqual(await credentials.describe(), nothing);
  assert.deepEqual(await credentials.setKeys({ apiKey: null, sharedKey: 'two' }, 'ada'), {
    ...nothing,
    sharedKeyFingerprint: SHARED,
    changed: ['shared_key'],
  });
  const both = { apiKeyFingerprint: API, sharedKeyFingerprint: SHARED };
  const answer = await credentials.setKeys({ apiKey: 'one', sharedKey: null }, 'ada');
  assert.deepEqual(answer, { ...both, changed: ['api_key'] });
  assert.deepEqual(await credentials.describe(), both);
  assert.deepEqual(await credentials.readKeys(), { apiKey: 'one', sharedKey: 'two' });
});

test('listeners are called after keys are stored, and only then', async (t) => {
  const { store } = await openTestStore(t);
  const told: unknown[] = [];
  const onKeysChanged = () => told.push(credentials.readKeys());
  const credentials = createCredentials(store, { onKeysChanged });
  const nothing = { apiKey: null, sharedKey: null };
  await assert.rejects(
    credentials.setKeys(nothing, 'ada'),
    (error) => error instanceof RequestError && error.code === 'missing_parameters',
  );
  assert.equal(told.length, 0);
  await credentials.setKeys({ apiKey: 'one', sharedKey: 'two' }, 'ada');
  assert.deepEqual(await Promise.all(told), [{ apiKey: 'one', sharedKey: 'two' }]);
});

test('listeners are called once when another server has stored other keys', async (t) => {
  const { store } = await openTestStore(t);
  let told = 0;
  const here = createCredentials(store, { onKeysChanged: () => told++ });
  const elsewhere = createCredentials(store);
  await here.refresh();
  await elsewhere.setKeys({ apiKey: 'one', sharedKey: 'two' }, 'ada');
  await here.refresh();
  await here.refresh();
  assert.equal(told, 1);
  await here.setKeys({ apiKey: 'three', sharedKey: null }, 'ada');
  await here.refresh();
  assert.equal(told, 2, 'what was set here was told then');
});

test('the audit log says which, by fingerprint, and by whom; nothing else', async (t) => {
  const { store } = await openTestStore(t);
  await createCredentials(store).setKeys({ apiKey: 'one', sharedKey: 'two' }, 'ada');
  assert.deepEqual(await readEvents(store), [
    {
      kind: 'cloud_keys_set',
      changed: ['api_key', 'shared_key'],
      apiKeyFingerprint: API,
      sharedKeyFingerprint: SHARED,
      by: 'ada',
    },
  ]);
});
