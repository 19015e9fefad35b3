import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createOwnNames } from '../../../src/services/access/own-names.ts';

/** A machine called Vault, and how often its resolver was asked. */
function openNames(findFullNames: () => Promise<readonly string[]>, hostName = 'Vault') {
  const state = { asked: 0, nowMs: 0, certified: 'old.example.com' };
  const names = createOwnNames({
    allowedHosts: ['Licenses.Example.com.'],
    isCertified: (name) => name === state.certified,
    readMonotonicMs: () => state.nowMs,
    machine: {
      hostName,
      findFullNames: () => {
        state.asked += 1;
        return findFullNames();
      },
    },
  });
  return { ...names, state };
}

describe('a name is our own', () => {
  test('if it is localhost, that of the machine, an allowed or a certified one', async () => {
    const { isOwn, state } = openNames(async () => []);
    for (const name of ['localhost', 'vault', 'licenses.example.com', 'old.example.com']) {
      assert.equal(await isOwn(name), true, name);
    }
    for (const name of ['', 'evil.example', 'vault2', 'x.licenses.example.com', 'example.com']) {
      assert.equal(await isOwn(name), false, name);
    }
    assert.equal(state.asked, 0, 'none of which needs the resolver');
    state.certified = 'new.example.com';
    assert.equal(await isOwn('new.example.com'), true);
    assert.equal(await isOwn('old.example.com'), false);
  });

  test('if the resolver knows the machine by it, which is asked at most once a minute', async () => {
    const { isOwn, state } = openNames(async () => ['vault.example.com', 'other.example.com']);
    assert.equal(await isOwn('vault.example.com'), true);
    assert.equal(await isOwn('vault.evil.example'), false);
    assert.equal(await isOwn('other.example.com'), false, 'it is not the name of the machine');
    assert.equal(state.asked, 1);
    state.nowMs = 60_001;
    assert.equal(await isOwn('vault.example.com'), true);
    assert.equal(state.asked, 2);
  });

  test('not if the resolver cannot be asked', async () => {
    const { isOwn } = openNames(() => Promise.reject(new Error('no network')));
    assert.equal(await isOwn('vault.example.com'), false);
  });

  test('with its domain and without, if the machine knows its domain', async () => {
    const { isOwn } = openNames(async () => [], 'vault.example.com');
    assert.deepEqual([await isOwn('vault.example.com'), await isOwn('vault')], [true, true]);
  });
});
