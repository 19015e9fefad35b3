import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { restore, saveBackup } from '../support/backups.ts';
import { BerthApi } from '../support/berth-api.ts';
import { type RunningCloud, startCloudHere } from '../support/cloud/cloud-process.ts';
import { startServerHere } from '../support/server-here.ts';
import { temporaryFolder } from '../support/server-process.ts';

/** Only what is asked for is reported. */
const SLOWLY = ['--cloud-report-seconds', '3600'];

async function start(data: string, { url, publicKeyFile }: RunningCloud) {
  const args = ['--cloud-url', url, '--cloud-public-key', publicKeyFile, ...SLOWLY];
  const server = await startServerHere({ data, args });
  const api = new BerthApi(server.url);
  return {
    url: server.url,
    register: (user: string) => api.register({ product: 'cad', user }),
    count: (consumptions: number) => api.post('/api/v4/add_consumption', { product: 'cad', consumptions }),
    ask: async (path: string, body?: Readonly<Record<string, unknown>>) => {
      const { status, text } = await (body === undefined ? api.get(path) : api.post(path, body));
      assert.equal(status, 200, text);
      return JSON.parse(text);
    },
    stop: () => {
      api.close();
      return server.stop();
    },
  };
}

test('a cloud license that was given back after a backup does not lend after the restore', async (t) => {
  const folder = temporaryFolder(t);
  const [data, file] = [join(folder, 'data'), join(folder, 'one.backup')];
  const cloud = await startCloudHere(t);
  const key = await cloud.grant('cad', '--slots', '3');
  const before = await start(data, cloud);
  t.after(before.stop);
  await before.ask('/api/v4/setKeys', { apiKey: cloud.keys.apiKey, sharedKey: cloud.keys.sharedKey });
  await before.ask('/api/v4/addProduct', { product: 'cad', licenseKey: key });
  await saveBackup(before.url, file);
  await before.ask('/api/v4/removeProduct?product=cad');
  await before.stop();

  await cloud.stop();
  const { given_back } = await restore(data, file);
  assert.deepEqual(
    given_back.map(({ product }) => product),
    ['cad'],
  );
  const after = await start(data, cloud);
  t.after(after.stop);
  const refused = await after.register('ada');
  assert.equal(refused.body.code, 'unknown_product', 'though the cloud cannot be asked');
  await cloud.restart();
  await after.ask('/api/v4/addProduct', { product: 'cad', licenseKey: key });
  assert.equal((await after.register('ada')).status, 200);
});

test('cloud licenses lend after a restore, and count once the cloud has told their total', async (t) => {
  const folder = temporaryFolder(t);
  const [data, file] = [join(folder, 'data'), join(folder, 'one.backup')];
  const cloud = await startCloudHere(t);
  const key = await cloud.grant('cad', '--slots', '3', '--type', 'consumption', '--consumptions', '100');
  const total = async () => (await cloud.showLicense(key)).total_consumptions;

  const before = await start(data, cloud);
  t.after(before.stop);
  await before.ask('/api/v4/setKeys', { apiKey: cloud.keys.apiKey, sharedKey: cloud.keys.sharedKey });
  await before.ask('/api/v4/addProduct', { product: 'cad', licenseKey: key });
  await before.count(5);
  await before.ask('/api/admin/licenses/sync', {});
  await before.count(2);
  await saveBackup(before.url, file);
  await before.count(3);
  await before.ask('/api/admin/licenses/sync', {});
  assert.equal(await total(), 10);
  await before.stop();

  await cloud.stop();
  const { lost, uncertain_reports } = await restore(data, file);
  assert.deepEqual([lost?.counts.map(({ count }) => count), uncertain_reports], [[3], 1]);
  const after = await start(data, cloud);
  t.after(after.stop);
  await after.ask('/api/v4/register', { product: 'cad', user: 'ada' });
  const refused = await after.count(1);
  assert.deepEqual([refused.status, refused.body.code], [400, 'license_check_overdue'], refused.text);

  await cloud.restart();
  await after.ask('/api/admin/licenses/sync', {});
  const { licenses } = await after.ask('/api/admin/licenses');
  assert.equal(licenses[0].total_consumptions, 10, 'as the cloud says');
  assert.equal((await after.count(1)).status, 200);
  await after.ask('/api/admin/licenses/sync', {});
  const { meters } = await after.ask('/api/admin/reports');
  const uncertain = meters[0].uncertain.map(({ amount }: { readonly amount: number }) => amount);
  assert.deepEqual([meters[0].pending, uncertain], [0, [2]]);
  assert.equal(await total(), 11, 'what may have been reported was not reported again');
});
