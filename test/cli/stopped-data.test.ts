import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { askBerth, runBerth } from '../support/berth-command.ts';
import { startServerHere } from '../support/server-here.ts';
import { seedLicenses, temporaryFolder } from '../support/server-process.ts';
import { describeStores } from '../support/stores/test-stores.ts';
import { testLicense } from '../support/test-license.ts';
import { succeeded } from './data-states.ts';

interface Status {
  readonly url: string | null;
  readonly store: { readonly kind: string; readonly licenses: number; readonly registrations: number };
}

/** Somebody has a slot of a license, and the server is stopped. */
async function leaveBehind(t: TestContext): Promise<string> {
  const data = temporaryFolder(t);
  await seedLicenses(data, [testLicense(1, { slots: 2 }), testLicense(2)]);
  const server = await startServerHere({ data });
  const body = JSON.stringify({ product: 'cad', user: 'ada', license_id: 1 });
  const { status } = await fetch(`${server.url}/api/v4/register`, { method: 'POST', body });
  assert.equal(status, 200);
  await server.stop();
  return data;
}

describeStores('the data of a stopped server', (store) => {
  test('is shown, and verified, by commands', async (t) => {
    const data = await leaveBehind(t);
    const { url, store: told } = await askBerth<Status>(data, ['status']);
    assert.deepEqual([url, told.licenses, told.registrations], [null, 2, 1]);
    assert.equal(told.kind, store === 'SQLite' ? 'sqlite' : 'postgres');
    const licenses = succeeded(await runBerth(data, ['license', 'list']));
    assert.match(licenses, /^1 +cad +active +never +offline +2 +1 +0$/m);
    const words = ['audit', 'list', '--license-id', '1'];
    const { events } = await askBerth<{ events: { kind: string; user?: string }[] }>(data, words);
    assert.ok(events.some(({ kind, user }) => kind === 'slot_lent' && user === 'ada'));
    assert.match(succeeded(await runBerth(data, ['audit', 'verify'])), /^The audit log is intact/);
  });

  test('is changed by commands, and a server started later sees the change', async (t) => {
    const data = await leaveBehind(t);
    succeeded(await runBerth(data, ['registration', 'release', 'ada', '--product', 'cad']));
    const server = await startServerHere({ data });
    t.after(server.stop);
    const status = await askBerth<Status>(data, ['status']);
    assert.deepEqual([status.url, status.store.registrations], [server.url, 0]);
    assert.equal((await runBerth(data, ['audit', 'verify'])).code, 0);
  });

  test('has accounts, which commands add, list and remove', async (t) => {
    const data = temporaryFolder(t);
    await seedLicenses(data, []);
    succeeded(await runBerth(data, ['user', 'add', 'ada', '--role', 'user'], {}, 'a password of my own\n'));
    assert.match(succeeded(await runBerth(data, ['user', 'list'])), /\nada +user +own +no +\d{4}-/);
    assert.equal(
      succeeded(await runBerth(data, ['user', 'remove', 'ada'])),
      'Removed account "ada" and ended its sessions.\n',
    );
  });
});
