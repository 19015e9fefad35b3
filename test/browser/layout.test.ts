import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { makePage } from '../../build/page.ts';
import { createApi, goTo, openPage, PASSWORD, signIn } from './admin-site.ts';
import { startBrowser } from './browser.ts';
import { findFlaws } from './layout-flaws.ts';
import { feature, license, startSampleSite } from './sample-site.ts';

/** Words of usual length, a word that has no place to break, and letters that take the most room. */
const LONG = {
  license: 'Computational Fluid Dynamics and Structural Analysis, Enterprise Edition with Support',
  product: 'computational-fluid-dynamics-enterprise-2027',
  user: 'maximiliane-alexandra.von-hohenzollern-sigmaringen@engineering.subsidiary.kestrel.example',
  host: 'WWWWWWWW-MMMMMMMM-workstation-0000000000000001.engineering.subsidiary.kestrel.example',
  account: 'administrator-of-the-night-shift-in-building-seventeen',
};

let browser: Browser | null = null;
let server: Awaited<ReturnType<typeof startSampleSite>>;
const data = mkdtempSync(join(tmpdir(), 'berth-layout-'));

before(async () => {
  browser = await startBrowser();
  if (browser === null) return;
  await makePage();
  const features = [feature(91, 'f'.repeat(60), LONG.license, 3), feature(92, 'q', 'Q', null, 500)];
  server = await startSampleSite(data, PASSWORD, [license(201, LONG.product, LONG.license, 2, { features })]);
  const api = createApi(server.url);
  const token = await api.signIn('admin', PASSWORD);
  for (const user of [LONG.user, `second-${LONG.user}`, `third-${LONG.user}`]) {
    await api.register(LONG.product, user, LONG.host);
  }
  const post = (path: string, body: object) => api.post(path, body, token);
  await post('/api/v4/featureRegister', { product: LONG.product, user: LONG.user, feature: 'f'.repeat(60) });
  await post('/api/admin/users/add', { name: LONG.account, role: 'operator' });
  await post('/api/admin/tokens/create', { name: LONG.account, role: 'user' });
  await post('/api/admin/bars', { kind: 'user', pattern: `*${LONG.user}` });
});

after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(data, { recursive: true, force: true });
});

const PLACES = [
  ...['overview', 'slots', 'slots?license=201', 'slots?search=nobody', 'licenses'],
  ...[102, 201, 999].map((id) => `licenses/${id}`),
  ...['', '?license=102', '?license=201', '?period=24h'].map((query) => `reports${query}`),
  ...['audit', 'api', 'people/nobody', `people/${encodeURIComponent(LONG.user)}`],
  ...['online', 'file', 'codes'].map((way) => `licenses/add?way=${way}`),
  ...'server cloud users tokens rules webhooks backup password page'
    .split(' ')
    .map((part) => `settings/${part}`),
];

test('no text is cut off or covered, and nothing is wider than the screen', async (t) => {
  if (browser === null) return t.skip('optional: needs Chromium');
  const { page, close } = await openPage(browser, server.url);
  t.after(close);
  const { keyboard } = page;
  const flaws: string[] = [];
  const look = async (place: string) => void flaws.push(...(await findFlaws(page, place)));
  const lookAtDialog = async (name: string) => {
    await page.getByRole('dialog').waitFor();
    await look(name);
    await keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  };
  await page.goto(`${server.url}/#/overview`);
  await page.getByLabel('Name').waitFor();
  await look('sign in');
  await signIn(page, 'admin', PASSWORD);
  for (const place of PLACES) {
    await goTo(page, place);
    await look(place);
  }
  await goTo(page, 'slots?license=201');
  await page.locator('[data-row="0"]').focus();
  await keyboard.press('Enter');
  await lookAtDialog('a slot');
  await keyboard.press('r');
  await lookAtDialog('the question before a release');
  await keyboard.press('?');
  await lookAtDialog('the list of keys');
  await keyboard.press('Control+k');
  await keyboard.type('maxi');
  await page.getByRole('option').filter({ hasText: 'maximiliane' }).first().waitFor();
  await lookAtDialog('the finder');
  assert.ok(flaws.length === 0, `\n${flaws.join('\n')}`);
});
