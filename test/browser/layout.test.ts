import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
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

async function open(t: TestContext) {
  if (browser === null) {
    t.skip('optional: needs Chromium');
    return null;
  }
  const { page, close } = await openPage(browser, server.url);
  t.after(close);
  await page.goto(`${server.url}/#/overview`);
  const flaws = [...(await findFlaws(page, 'sign in'))];
  await signIn(page, 'admin', PASSWORD);
  return { page, flaws };
}

const PLACES = [
  ...['overview', 'slots', 'slots?license=201', 'slots?search=nobody', 'licenses'],
  ...[102, 201, 999].map((id) => `licenses/${id}`),
  ...['', '?license=102', '?license=201', '?period=24h'].map((query) => `reports${query}`),
  ...['audit', 'api'],
  ...['online', 'file', 'codes'].map((way) => `licenses/add?way=${way}`),
  ...'server cloud users tokens rules webhooks backup password page'
    .split(' ')
    .map((part) => `settings/${part}`),
];

describe('the layout', () => {
  test('no text is cut off or covered, and nothing is wider than the screen', async (t) => {
    const opened = await open(t);
    if (opened === null) return;
    const { page, flaws } = opened;
    for (const place of PLACES) {
      await goTo(page, place);
      flaws.push(...(await findFlaws(page, place)));
    }
    assert.ok(flaws.length === 0, `\n${flaws.join('\n')}`);
  });

  test('the same for what floats above a screen', async (t) => {
    const opened = await open(t);
    if (opened === null) return;
    const { page, flaws } = opened;
    const { keyboard } = page;
    const look = async (name: string, role: 'dialog' | 'menu') => {
      await page.getByRole(role).waitFor();
      flaws.push(...(await findFlaws(page, name)));
      await keyboard.press('Escape');
      await page.getByRole(role).waitFor({ state: 'detached' });
    };
    await goTo(page, 'slots?license=201');
    await page.locator('[data-row="0"]').focus();
    await keyboard.press('Enter');
    await look('a slot', 'dialog');
    await keyboard.press('r');
    await look('the question before a release', 'dialog');
    await keyboard.press('?');
    await look('the list of keys', 'dialog');
    await keyboard.press('Control+k');
    await keyboard.type('maxi');
    await look('the finder', 'dialog');
    assert.ok(flaws.length === 0, `\n${flaws.join('\n')}`);
  });
});
