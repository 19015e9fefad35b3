import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { isSignedBy, SIGNATURE_HEADER } from '@berth/protocol/cloud/vendor-signature';
import { type Answer, createTestCloud, START } from '../../../../../test/support/cloud/test-cloud.ts';
import { given, refused } from '../../../../../test/support/cloud/test-portal.ts';
import { openDataFolder } from '../../../src/store/data-folder.ts';
import { listEvents } from '../../../src/store/events.ts';
import { fingerprintOf } from '../../../src/store/keys/key-ring.ts';

/** A running cloud, and the vendor's command line in another process. */
function openTwice(t: TestContext) {
  const cloud = createTestCloud(t);
  const { keyRing, store, close } = openDataFolder(cloud.path);
  t.after(close);
  const signerOf = ({ bytes, headers }: Answer) => {
    const signature = headers.get(SIGNATURE_HEADER) ?? '';
    const signer = keyRing.read().all.find((key) => isSignedBy(createPublicKey(key), bytes, signature));
    return signer === undefined ? null : fingerprintOf(signer);
  };
  const askWho = async () => signerOf(await cloud.send('/health', {}));
  return { cloud, vendor: keyRing, store, askWho };
}

const keyFilesIn = (path: string) => readdirSync(path).filter((name) => name.startsWith('signing-key'));

describe('the signing keys', () => {
  test('are changed with an overlap, also while the cloud runs', async (t) => {
    const { cloud, vendor, store, askWho } = openTwice(t);
    const [first] = vendor.list();
    assert.deepEqual([vendor.list().length, first?.isSigning, first?.file], [1, true, 'signing-key.pem']);
    assert.equal(refused(vendor.switch(START)), 'validation_error');
    assert.equal(refused(vendor.retire(START)), 'validation_error', 'the last one stays');
    const next = given(vendor.add(START));
    assert.equal(refused(vendor.add(START)), 'validation_error');
    assert.equal(await askWho(), first?.fingerprint, 'until the switch');
    assert.deepEqual(cloud.folder.keyRing.read().all.map(fingerprintOf), [
      first?.fingerprint,
      next.fingerprint,
    ]);
    given(vendor.switch(START));
    assert.equal(await askWho(), next.fingerprint);
    assert.deepEqual(cloud.folder.keyRing.read().all.map(fingerprintOf), [
      next.fingerprint,
      first?.fingerprint,
    ]);
    assert.equal(given(vendor.retire(START)).fingerprint, first?.fingerprint);
    assert.equal(await askWho(), next.fingerprint);
    assert.deepEqual(keyFilesIn(cloud.path), [next.file]);
    assert.equal(cloud.folder.keyRing.read().all.length, 1);
    const again = openDataFolder(cloud.path);
    again.close();
    assert.equal(fingerprintOf(again.keyRing.read().current), next.fingerprint);
    const kinds = listEvents(store, null, 3).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['signing_key_retired', 'signing_key_switched', 'signing_key_added']);
  });

  test('survive a crash at each step', (t) => {
    const { cloud, vendor, store } = openTwice(t);
    const reopen = () => {
      const { keyRing, close } = openDataFolder(cloud.path);
      close();
      return keyRing.read().all.length;
    };
    writeFileSync(join(cloud.path, 'signing-key-0123456789abcdef.pem'), 'half', { mode: 0o600 });
    assert.equal(reopen(), 1, 'a file that is not in the list is no key');
    const next = given(vendor.add(START));
    store.sql.setKeyState.run('retired', next.fingerprint);
    assert.equal(reopen(), 1, 'retired, and its file still there');
    assert.ok(!existsSync(join(cloud.path, next.file)));
    assert.equal(vendor.list().length, 1);
    const another = given(vendor.add(START));
    rmSync(join(cloud.path, another.file));
    assert.throws(reopen, /signing key .+ is missing/, 'and none is made up');
    vendor.retire(START);
    assert.equal(reopen(), 1);
  });
});
