import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { makePage } from '../../build/page.ts';
import { startServerHere } from '../support/server-here.ts';
import { createApi, findBarriers, goTo, openPage, PASSWORD, signIn } from './admin-site.ts';
import { startBrowser } from './browser.ts';
import { findFlaws } from './layout-flaws.ts';

let browser: Browser | null = null;
let server: Awaited<ReturnType<typeof startServerHere>>;
let api: ReturnType<typeof createApi>;
let token = '';
let opened: Awaited<ReturnType<typeof openPage>>;
const data = mkdtempSync(join(tmpdir(), 'berth-rules-'));

before(async () => {
  browser = await startBrowser();
  if (browser === null) return;
  await makePage();
  server = await startServerHere({ data, args: ['--demo'] });
  api = createApi(server.url);
  const [, passwordOld = ''] = /one-time password {2}(\S+)/.exec(server.announced) ?? [];
  const first = await api.signIn('admin', passwordOld);
  await api.post('/api/v4/setPassword', { passwordOld, passwordNew: PASSWORD }, first);
  token = await api.signIn('admin', PASSWORD);
  await api.post('/api/admin/users/add', { name: 'olga', role: 'operator', password: PASSWORD }, token);
  opened = await openPage(browser, server.url);
  await opened.page.goto(`${server.url}/#/overview`);
  await signIn(opened.page, 'admin', PASSWORD);
});

after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(data, { recursive: true, force: true });
});

/** The page of the administrator, at the rules; `null` where there is no browser. */
async function open(t: TestContext): Promise<Page | null> {
  if (browser === null) {
    t.skip('optional: needs Chromium');
    return null;
  }
  t.after(opened.check);
  const { page } = opened;
  await page.keyboard.press('Escape');
  await goTo(page, 'rules');
  return page;
}

const editor = (page: Page) => page.getByRole('textbox', { name: 'Rules' });
const applyButton = (page: Page) => page.getByRole('button', { name: /^Apply as revision/ });

async function readRules(): Promise<{ readonly revision: number; readonly text: string }> {
  return (await api.get('/api/admin/rules', token)).body as { revision: number; text: string };
}

function waitInLine(user: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', prefer: 'wait=30' };
  const body = JSON.stringify({ product: 'demo', user });
  return fetch(`${server.url}/api/v4/register`, { method: 'POST', headers, body });
}

/** Presses Apply, and answers the question. */
async function apply(page: Page): Promise<void> {
  await applyButton(page).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Apply', exact: true }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

describe('the rules on the page', () => {
  test('begin with an example, and say what they do', async (t) => {
    const page = await open(t);
    if (page === null) return;
    await page.getByRole('heading', { name: 'Whoever asks first gets a slot' }).waitFor();
    await page.getByRole('button', { name: 'Start from an example' }).click();
    await page.getByText(/^Checked at/).waitFor();
    assert.equal((await readRules()).revision, 0, 'a draft changes nothing');
    await apply(page);
    await page.getByText('Revision 1 is in force.').waitFor();
    assert.match((await readRules()).text, /slots: 2, for: contractors/);
    for (const user of ['ext-1', 'ext-2']) assert.equal((await api.register('demo', user)).status, 200);
    const refused = await api.register('demo', 'ext-3');
    assert.equal(refused.body.rule, 'limit 2 for contractors');
    const force = page.getByRole('region', { name: 'In force' });
    await force.getByText('contractors hold 2, as many as they may.').waitFor();
    await force.getByText('1 of 5 slots are reserved for team; 0 in use, 1 still to come.').waitFor();
    await goTo(page, 'overview');
    await page.getByText('1 reserved for team, 0 in use').waitFor();
    await goTo(page, 'audit?kind=slot_denied');
    await page.getByText('ext-3 was refused a slot: limit 2 for contractors').waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('u');
    await force.waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('block');
    await page.getByRole('option', { name: 'Bars' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Barred here' }).waitFor();
  });

  test('an error stands at its line and keeps the draft from being applied', async (t) => {
    const page = await open(t);
    if (page === null) return;
    const { revision, text } = await readRules();
    await editor(page).fill(text.replace('limit:', 'limitt:'));
    const line = text.split('\n').indexOf('    limit:') + 1;
    await page.getByRole('button', { name: `Go to line ${line}` }).waitFor();
    await page.locator(`[data-line="${line}"].is-critical.changed`).waitFor();
    assert.deepEqual(await findBarriers(page), []);
    assert.deepEqual(await findFlaws(page, 'a draft with an error'), []);
    await page.setViewportSize({ width: 1440, height: 900 });
    await applyButton(page).click();
    await page.getByText(/^Not applied: the draft has an error\./).waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
    await editor(page).fill(`${text}\nexpect:\n  - { user: zoe, product: demo, answer: refused }\n`);
    await page.getByText('The example does not hold').waitFor();
    await applyButton(page).click();
    await page.getByText(/^Not applied: the draft has an error\. zoe and demo: served/).waitFor();
    await page.getByRole('button', { name: 'Discard', exact: true }).click();
    assert.equal(await editor(page).inputValue(), text);
    await applyButton(page).click();
    await page.getByText(/^There is nothing to apply/).waitFor();
    assert.equal((await readRules()).revision, revision);
  });

  test('what is typed keeps its indentation, lies on its colours, and stays on other screens', async (t) => {
    const page = await open(t);
    if (page === null) return;
    await editor(page).fill('products:\n  demo:');
    await editor(page).press('End');
    await page.keyboard.press('Enter');
    await page.keyboard.type('  allow: [x]');
    const typed = 'products:\n  demo:\n    allow: [x]';
    assert.equal(await editor(page).inputValue(), typed);
    await goTo(page, 'slots');
    await goTo(page, 'rules');
    assert.equal(await editor(page).inputValue(), typed);
    const sizes = (await page.evaluate(`(() => {
      const area = document.querySelector('.code-field');
      const lines = document.querySelector('.code-lines');
      area.style.height = '0';
      const found = [area.scrollHeight, lines.offsetHeight];
      area.style.height = '';
      return found;
    })()`)) as [number, number];
    assert.equal(sizes[0], sizes[1], 'both break their lines alike');
    await page.getByRole('button', { name: 'Discard', exact: true }).click();
  });

  test('a replay is grey as soon as the text is another one', async (t) => {
    const page = await open(t);
    if (page === null) return;
    const { text } = await readRules();
    await editor(page).fill(text.replace('slots: 2', 'slots: 1'));
    const part = page.getByRole('region', { name: 'What it would have changed in the last 30 days' });
    const answer = Promise.withResolvers<void>();
    await page.route(/rules\/try/, (route) => answer.promise.then(() => route.continue()).catch(() => {}));
    await page.getByRole('button', { name: 'Try on 30 days' }).click();
    await part.getByRole('button', { name: 'Stop' }).click();
    await part.getByText(/^Try the draft on what really happened/).waitFor();
    answer.resolve();
    await page.unroute(/rules\/try/);
    await page.getByRole('button', { name: 'Try on 30 days' }).click();
    await part.getByText('refused instead of served').waitFor();
    await part.getByRole('row').filter({ hasText: 'limit 1 for contractors' }).waitFor();
    await part.getByRole('region', { name: 'Who would be refused' }).getByText('ext-2').waitFor();
    assert.equal(await page.locator('.stale').count(), 0);
    assert.deepEqual(await findBarriers(page), []);
    assert.deepEqual(await findFlaws(page, 'a replay'), []);
    await page.setViewportSize({ width: 1440, height: 900 });
    await editor(page).press('End');
    await page.keyboard.type(' ');
    await page.locator('.stale').waitFor();
    await part.getByRole('button', { name: 'Try it again' }).click();
    await page.locator('.stale').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Discard', exact: true }).click();
  });

  test('a newer revision is shown beside the draft, and not overwritten', async (t) => {
    const page = await open(t);
    if (page === null) return;
    const { revision, text } = await readRules();
    await editor(page).fill(`${text}# mine\n`);
    const theirs = `${text}# theirs\n`;
    await applyButton(page).click();
    await page.getByRole('dialog').waitFor();
    await api.post('/api/admin/rules/apply', { text: theirs, based_on: revision }, token);
    await page.getByRole('dialog').getByRole('button', { name: 'Apply', exact: true }).click();
    await page.getByText(`Revision ${revision + 1} is newer than your draft.`).waitFor();
    await page
      .getByRole('list', { name: `What revision ${revision + 1} changed` })
      .getByText('# theirs')
      .waitFor();
    await page.getByRole('list', { name: 'What your draft changes' }).getByText('# mine').waitFor();
    assert.deepEqual(await findBarriers(page), []);
    await applyButton(page).click();
    await page.getByText(/Compare both below first\./).waitFor();
    assert.equal((await readRules()).text, theirs);
    await page.getByRole('button', { name: /^Compare my draft/ }).click();
    await page.getByText(`1 line added, 1 removed since revision ${revision + 1}`).waitFor();
    await apply(page);
    await page.getByText(`Revision ${revision + 2} is in force.`).waitFor();
    await page.getByRole('button', { name: /^Undo/ }).click();
    await page.getByText(`Revision ${revision + 3} has been in force since`).waitFor();
    assert.equal((await readRules()).text, theirs);
  });

  test('every revision can be compared and reverted', async (t) => {
    const page = await open(t);
    if (page === null) return;
    const { revision } = await readRules();
    await page.getByRole('button', { name: 'History' }).click();
    const history = page.getByRole('region', { name: 'History' });
    await history.getByRole('button', { name: /^1\b/ }).last().click();
    await history.getByRole('button', { name: 'Revert to 1…' }).click();
    await page.getByRole('button', { name: 'Revert', exact: true }).click();
    await page.getByText(`Revision ${revision + 1} is in force, with the text of revision 1.`).waitFor();
    assert.doesNotMatch((await readRules()).text, /theirs/);
    await history.getByText('theirs').waitFor({ state: 'detached' });
  });

  test('an options file is reported line by line, and put in the editor', async (t) => {
    const page = await open(t);
    if (page === null) return;
    await page.getByRole('button', { name: 'Open a file…' }).click();
    const content = 'GROUP cad ada bob\nRESERVE 2 demo GROUP cad\nTIMEOUT demo 3600\n';
    const file = { name: 'vendor.opt', mimeType: 'text/plain', buffer: Buffer.from(content) };
    await page.getByRole('dialog').locator('input[type=file]').setInputFiles(file);
    const dialog = page.getByRole('dialog');
    await dialog
      .getByRole('row')
      .filter({ hasText: 'TIMEOUT demo 3600' })
      .getByText('Nothing to do')
      .waitFor();
    assert.deepEqual(await findBarriers(page), []);
    await dialog.getByRole('button', { name: 'Put it in the editor' }).click();
    assert.match(await editor(page).inputValue(), /slots: 2, for: cad/);
    await page.getByRole('button', { name: 'Discard', exact: true }).click();
  });

  test('who waits for a slot is shown with the rule, as long as they wait', async (t) => {
    const page = await open(t);
    if (page === null) return;
    const { licenses } = (await api.get('/api/admin/licenses', token)).body;
    const [{ id }] = licenses as [{ id: number }];
    await goTo(page, `licenses/${id}`);
    const part = page.getByRole('region', { name: 'Waiting' });
    await part.getByText('Nobody is waiting.').waitFor();
    const answer = waitInLine('ext-3');
    const row = part.getByRole('row').filter({ hasText: 'ext-3' });
    await row.getByText('Rule: limit 2 for contractors').waitFor();
    assert.deepEqual(await findBarriers(page), []);
    assert.deepEqual(await findFlaws(page, 'a line'), []);
    await page.setViewportSize({ width: 1440, height: 900 });
    await goTo(page, 'overview');
    await part.getByRole('row').filter({ hasText: /\d s$/ }).getByRole('link').click();
    await row.getByRole('link', { name: 'ext-3' }).click();
    const groups = page.getByRole('region', { name: 'Groups' });
    await groups
      .getByRole('listitem')
      .filter({ hasText: 'contractors' })
      .getByText('by name ext-*')
      .waitFor();
    await goTo(page, `licenses/${id}`);
    await row.waitFor();
    await api.post('/api/admin/registrations/release', { license_id: id, user: 'ext-1' }, token);
    assert.equal((await answer).status, 200);
    await part.getByText('Nobody is waiting.').waitFor();
    await goTo(page, `reports?license=${id}`);
    await page.getByText('by 1 who got a slot').waitFor();
    const waits = page.getByRole('region', { name: 'Waiting in line' });
    await waits.getByRole('row').filter({ hasText: 'The license itself' }).waitFor();
    assert.deepEqual(await findBarriers(page), []);
    await goTo(page, 'overview');
    await page.getByRole('region', { name: 'Licenses' }).waitFor();
    assert.equal(await part.count(), 0);
  });

  test('groups of the directory show how old they are and who is in them, and keep a draft', async (t) => {
    const page = await open(t);
    if (page === null) return;
    const current = (await api.get('/api/admin/rules', token)).body as { revision: number };
    const facts = { group: 'cad', directory: 'cn=cad,ou=groups,dc=example', members: 2 };
    const away = { ...facts, answered_at: '2026-01-01T00:00:00.000Z', problem: 'The directory is away.' };
    let { revision } = current;
    const answer = () => ({
      ...current,
      revision,
      directory_groups: [away, { ...away, group: 'b', problem: null }],
    });
    await page.route('**/api/admin/rules', (route) => route.fulfill({ json: answer() }));
    await page.route('**/api/admin/rules/members?*', (route) =>
      route.fulfill({ json: { group: 'cad', members: ['ann', 'Doe, Jane'] } }),
    );
    await goTo(page, 'slots');
    await goTo(page, 'rules');
    await page.getByText('The directory is away. The members stay as they were.').waitFor();
    await page.getByRole('button', { name: '2 members' }).first().click();
    await page.getByText('ann · Doe, Jane').waitFor();
    assert.deepEqual(await findBarriers(page), []);
    assert.deepEqual(await findFlaws(page, 'rules'), []);
    await page.setViewportSize({ width: 1280, height: 900 });
    await editor(page).fill(`${(await readRules()).text}# mine\n`);
    revision += 1;
    await goTo(page, 'slots');
    await goTo(page, 'rules');
    await page.getByText(`Revision ${revision} has been in force since`).waitFor();
    assert.equal(await page.getByText('is newer than your draft').count(), 0);
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Discard' }).first().click();
  });

  test('operators read, and phones read and revert', async (t) => {
    const page = await open(t);
    if (page === null || browser === null) return;
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: /^Revert to/ }).waitFor();
    assert.equal(await editor(page).count(), 0);
    assert.equal(await applyButton(page).count(), 0);
    await page.setViewportSize({ width: 1440, height: 900 });
    const other = await openPage(browser, server.url);
    t.after(other.close);
    await other.page.goto(`${server.url}/#/rules`);
    await signIn(other.page, 'olga', PASSWORD);
    await other.page
      .getByRole('region', { name: 'Rules', exact: true })
      .getByText('contractors')
      .first()
      .waitFor();
    await other.page.getByRole('button', { name: 'History' }).click();
    await other.page.getByRole('heading', { name: /^Revision \d/ }).waitFor();
    const names = await other.page.getByRole('main').getByRole('button').allInnerTexts();
    assert.deepEqual(
      names.filter((name) => /apply|try|revert|open|discard/i.test(name)),
      [],
    );
  });

  test('while a file rules, the page names it and changes nothing', async (t) => {
    const page = await open(t);
    if (page === null) return;
    const file = join(data, 'rules.yaml');
    writeFileSync(file, 'groups:\n  filed: { users: [ada] }\n');
    await page.getByText(`The file ${file} rules.`).waitFor();
    assert.equal(await editor(page).count(), 0);
    assert.equal(await applyButton(page).count(), 0);
    await page.getByRole('region', { name: 'Rules', exact: true }).getByText('filed').waitFor();
    writeFileSync(file, 'nonsense: 1\n');
    await goTo(page, 'slots');
    await goTo(page, 'rules');
    await page.getByText('The rules file is not applied. The rules before it stay in force.').waitFor();
  });
});
