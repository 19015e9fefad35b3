import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readPublicKeys } from '@berth/protocol/cloud/vendor-signature';
import { BerthApi, type Facts } from '../support/berth-api.ts';
import { type RunningCloud, startCloudHere } from '../support/cloud/cloud-process.ts';
import { startServerHere } from '../support/server-here.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { verifyGrant } from '../support/verify-grant.ts';

const NONCE = '0123456789abcdef';

/** The public keys of the vendor, as it hands them out now. */
async function handOut(cloud: RunningCloud, folder: string, name: string) {
  const text = await cloud.runText('public-key');
  const file = join(folder, name);
  writeFileSync(file, text);
  return { file, keys: readPublicKeys(text) };
}

async function startSite(cloud: RunningCloud, publicKeyFile: string, data: string) {
  const args = ['--cloud-url', cloud.url, '--cloud-public-key', publicKeyFile];
  const server = await startServerHere({ data, args });
  const api = new BerthApi(server.url);
  const ask = async (path: string, body: Facts) => {
    const answer = await api.post(path, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body as Facts;
  };
  return {
    ask,
    async sync() {
      const { licenses } = (await ask('/api/admin/licenses/sync', {})) as unknown as Synced;
      return licenses[0]?.error ?? null;
    },
    async lend() {
      const lent = await ask('/api/v4/register', { product: 'cad', user: 'ada', nonce: NONCE });
      const {
        grant,
        certificate = null,
        other_certificates: otherCertificates = [],
      } = lent as unknown as Lent;
      return { grant, certificate, otherCertificates, nonce: NONCE, now: Date.now() };
    },
    async stop() {
      api.close();
      await server.stop();
    },
  };
}

interface Synced {
  readonly licenses: readonly { readonly error: { readonly message: string } | null }[];
}

interface Lent {
  readonly grant: string;
  readonly certificate?: string;
  readonly other_certificates?: readonly string[];
}

test('a vendor changes its key, and neither server nor applications notice', async (t) => {
  const [folder, data] = [temporaryFolder(t), temporaryFolder(t)];
  const cloud = await startCloudHere(t);
  const before = await handOut(cloud, folder, 'old.pem');
  const [oldKey] = before.keys;
  assert.ok(oldKey !== undefined && before.keys.length === 1);
  const first = await startSite(cloud, before.file, data);
  await first.ask('/api/v4/setKeys', { ...cloud.keys });
  await first.ask('/api/v4/addProduct', {
    product: 'cad',
    licenseKey: await cloud.grant('cad', '--slots', '3'),
  });
  assert.equal(verifyGrant({ ...(await first.lend()), vendorKey: oldKey }).accepted, true);

  await cloud.run('signing-key', 'add');
  const both = await handOut(cloud, folder, 'both.pem');
  const newKey = both.keys.find((key) => !key.equals(oldKey));
  assert.ok(newKey !== undefined && both.keys.length === 2);
  assert.equal(await first.sync(), null);
  const between = await first.lend();
  for (const vendorKey of [oldKey, newKey]) {
    assert.ok(
      verifyGrant({ ...between, vendorKey }).accepted,
      'also with the key that the server does not know',
    );
  }
  await cloud.run('signing-key', 'switch');
  assert.match(JSON.stringify(await first.sync()), /no valid signature/, 'it was not given the new key yet');
  assert.ok(verifyGrant({ ...(await first.lend()), vendorKey: newKey }).accepted, 'and lends all the same');
  await first.stop();

  const second = await startSite(cloud, both.file, data);
  assert.equal(await second.sync(), null);
  await cloud.run('signing-key', 'retire');
  assert.equal(await second.sync(), null);
  const after = await second.lend();
  assert.deepEqual(after.otherCertificates, []);
  assert.ok(verifyGrant({ ...after, vendorKey: newKey }).accepted);
  assert.ok(!verifyGrant({ ...after, vendorKey: oldKey }).accepted);
  await second.stop();
});
