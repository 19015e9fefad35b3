import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openTestApp, readEvents } from '../../../../../../test/support/test-app.ts';

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
      changed_by: 'local',
      changed_at: '2030-01-15T12:00:00.000Z',
    });
    await change(app, { 'page.name': null });
    assert.equal(await nameOnPage(app), '');
    assert.equal((await find(app, 'page.name'))?.source, 'default');
    const events = (await readEvents(app.store)).filter((event) => event.kind === 'setting_changed');
    assert.deepEqual(
      events.map(({ value }) => value),
      ['Kestrel', null],
    );
  });

  test('are refused by name, and then none of them changes', async (t) => {
    const app = await openTestApp(t, { env: { BERTH_BACKUP_KEEP: '9' } });
    for (const [changes, code, sentence] of [
      [undefined, 'missing_parameters', /^Send "changes"\.$/],
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
});
