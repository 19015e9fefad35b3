import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { restore } from '../../../../../../test/support/backups.ts';
import { temporaryFolder } from '../../../../../../test/support/server-process.ts';
import { FOREIGN, openTestApp, openTestStore, readEvents } from '../../../../../../test/support/test-app.ts';
import { openWebhookReceiver } from '../../../../../../test/support/webhook-receiver.ts';
import { loadConfig } from '../../../../src/config.ts';
import { LiveSettings } from '../../../../src/services/settings/live-settings.ts';

type App = Awaited<ReturnType<typeof openTestApp>>;

const change = ({ post }: App, changes: unknown) => post('/api/admin/settings', { changes });

async function find({ get }: App, name: string) {
  const { settings } = (await get('/api/admin/settings')).body;
  return (settings as readonly Record<string, unknown>[]).find((one) => one.name === name);
}

const nameOnPage = async ({ get }: App) => (await get('/api/admin/welcome')).body.name;

describe('settings', () => {
  test('that a running server can apply are changed at once, recorded, and reset', async (t) => {
    const app = await openTestApp(t);
    const answer = await change(app, { 'page.name': 'Kestrel' });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(await nameOnPage(app), 'Kestrel');
    const { about: _, ...kept } = (await find(app, 'page.name')) ?? {};
    assert.deepEqual(kept, {
      name: 'page.name',
      value: 'Kestrel',
      source: 'stored',
      place: null,
      is_live: true,
      choices: null,
      changed_by: 'local',
      changed_at: '2030-01-15T12:00:00.000Z',
    });
    await change(app, { 'page.name': null });
    assert.equal(await nameOnPage(app), '');
    assert.equal((await find(app, 'page.name'))?.source, 'default');
    const events = (await readEvents(app.store)).filter((event) => event.kind === 'settings_changed');
    assert.deepEqual(
      events.map(({ settings }) => settings),
      [{ 'page.name': 'Kestrel' }, { 'page.name': null }],
    );
  });

  test('are refused by name, and then none of them changes', async (t) => {
    const app = await openTestApp(t, { env: { BERTH_BACKUP_KEEP: '9' } });
    for (const [changes, code, sentence] of [
      [undefined, 'missing_parameters', /^"changes" is missing: /],
      [
        { 'page.nam': 'x' },
        'validation_error',
        /^There is no setting "page\.nam"\. Did you mean "page\.name"\?$/,
      ],
      [{ 'page.name': 7 }, 'validation_error', /^"page\.name" cannot be "7"\./],
      [{ 'backup.keep': 3 }, 'setting_not_changeable', /^"backup\.keep" is fixed by BERTH_BACKUP_KEEP\. /],
      [
        { port: 99 },
        'setting_not_changeable',
        /^"port" is read only when the server starts\. .* BERTH_PORT or --port,/,
      ],
    ] as const) {
      const { body } = await change(app, changes && { 'page.name': 'Kestrel', ...changes });
      assert.equal(body.code, code);
      assert.match(String(body.message), sentence);
    }
    assert.equal(await nameOnPage(app), '');
  });

  test('of limits apply to the next request', async (t) => {
    const app = await openTestApp(t);
    const ask = async (user: string) =>
      (await app.post('/api/v4/register', { product: 'cad', user }, { peer: FOREIGN })).body.code;
    assert.equal(await ask('ann'), undefined);
    await change(app, { 'limits.newSlotsPerHour': 1 });
    assert.equal(await ask('bob'), 'address_limit_reached');
    await change(app, { 'limits.newSlotsPerHour': null, 'http.clientRequestsPerMinute': 1 });
    assert.deepEqual([await ask('bob'), await ask('bob')], [undefined, 'too_many_requests']);
  });

  test('of the webhook apply at once, with a secret that the server makes', async (t) => {
    const app = await openTestApp(t);
    const receiver = await openWebhookReceiver(t);
    const unset = await app.post('/api/admin/webhooks/test', {});
    assert.deepEqual([unset.body.code, unset.body.message], ['webhook_not_set', NOT_SET]);
    const url = `${receiver.url}?token=geheim`;
    const { text } = await change(app, { 'webhooks.url': url });
    assert.doesNotMatch(text, /geheim/);
    assert.match(String((await app.post('/api/admin/webhooks/test', {})).body.message), /needs a secret/);
    assert.match((await app.get('/api/admin/status')).text, /"state":"no_secret"/);
    const { secret } = (await app.post('/api/admin/webhooks/secret', {})).body;
    assert.deepEqual((await app.post('/api/admin/webhooks/test', {})).body.status, 200);
    const [{ headers, body } = { headers: {}, body: '' }] = receiver.requests;
    const [, at, signature] = /^t=(\d+),v1=(.*)$/.exec(String(headers['berth-signature'])) ?? [];
    assert.equal(createHmac('sha256', String(secret)).update(`${at}.${body}`).digest('hex'), signature);
    assert.doesNotMatch(JSON.stringify(await readEvents(app.store)), /geheim/);
  });

  test('of backups are refused if the next backup would fail', async (t) => {
    const app = await openTestApp(t);
    const file = join(app.folder, 'a file');
    writeFileSync(file, 'short');
    for (const [name, value, sentence] of [
      ['backup.folder', 'backups', /^"backup\.folder" must be an absolute path/],
      ['backup.folder', join(file, 'in it'), /^The folder .* cannot be created/],
      ['backup.passphraseFile', file, /fewer than 12 characters/],
      ['backup.schedule', 'never', /^"backup\.schedule" is not valid\. Allowed: /],
      ['webhooks.url', 'https://ada:geheim@example.com/', /^"webhooks\.url" must not contain a user name/],
    ] as const) {
      const { body } = await change(app, { [name]: value });
      assert.deepEqual([body.code, body.field], ['validation_error', name]);
      assert.match(String(body.message), sentence);
    }
  });

  test('of backups apply to the next one, which a passphrase restores on its own', async (t) => {
    const app = await openTestApp(t);
    const [folder, passphraseFile] = [join(app.folder, 'kept'), join(app.folder, 'passphrase')];
    writeFileSync(passphraseFile, 'correct horse battery');
    assert.equal(await app.backups.keepSchedule(), null, 'there is no schedule');
    const names = { folder, passphraseFile, schedule: '02:00' };
    await change(
      app,
      Object.fromEntries(Object.entries(names).map(([name, value]) => [`backup.${name}`, value])),
    );
    const file = await app.backups.keepSchedule();
    const { body } = await app.get('/api/admin/backups');
    assert.equal(body.folder, folder);
    const [kept] = body.backups as readonly Record<string, unknown>[];
    assert.deepEqual([kept?.file, kept?.with_key], [file, true]);
    const elsewhere = temporaryFolder(t);
    await restore(elsewhere, String(file), { passphrase: 'correct horse battery' });
    assert.deepEqual(
      readFileSync(join(elsewhere, 'master.key')),
      readFileSync(join(app.folder, 'master.key')),
    );
  });
});

test('another server on the same data takes settings over', async (t) => {
  const { store } = await openTestStore(t);
  const { config } = loadConfig({ flags: {}, env: { BERTH_BACKUP_KEEP: '9' }, file: null });
  const [one, two] = [new LiveSettings(store, config), new LiveSettings(store, config)];
  await one.change({ 'page.name': 'Kestrel', 'backup.schedule': '02:00' }, 'ada');
  await store.execute({
    kind: 'change_settings',
    changes: [
      { name: 'backup.keep', value: 3, shown: 3 },
      { name: 'port', value: 99, shown: 99 },
      { name: 'limits.newSlotsPerHour', value: -1, shown: -1 },
      { name: 'unknown', value: 'x', shown: 'x' },
    ],
    by: 'ada',
  });
  await two.refresh();
  const { page, backup, port, limits } = two.current;
  assert.deepEqual([page.name, backup.schedule], ['Kestrel', '02:00']);
  assert.deepEqual([backup.keep, port, limits.newSlotsPerHour], [9, 8080, 20000], 'what does not count');
});

const NOT_SET = 'No webhook is set. Set "webhooks.url" first.';
