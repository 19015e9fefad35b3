import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { makePage } from '../../build/page.ts';
import { goTo, listPlaces, openPage, PASSWORD, signIn } from './admin-site.ts';
import { startBrowser } from './browser.ts';
import { EXTREME, LONG, ORDINARY, startCrowdedSite } from './crowded-site.ts';
import { findFlaws, findThemedSizes } from './layout-flaws.ts';

let browser: Browser | null = null;
let server: Awaited<ReturnType<typeof startCrowdedSite>>;
const data = mkdtempSync(join(tmpdir(), 'berth-layout-'));

before(async () => {
  browser = await startBrowser();
  if (browser === null) return;
  await makePage();
  server = await startCrowdedSite(data, PASSWORD);
});

after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(data, { recursive: true, force: true });
});

const PLACES = [
  ...listPlaces(ORDINARY),
  ...[`slots?license=${EXTREME}`, 'slots?search=nobody', `licenses/${EXTREME}`, 'licenses/999'],
  ...[`license=${ORDINARY}`, `license=${EXTREME}`, 'period=24h'].map((query) => `reports?${query}`),
  `people/${encodeURIComponent(LONG.user)}`,
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
  assert.deepEqual(await findThemedSizes(page), [], 'then it is enough to look at one theme');
  await signIn(page, 'admin', PASSWORD);
  for (const place of PLACES) {
    await goTo(page, place);
    await look(place);
  }
  await goTo(page, `slots?license=${EXTREME}`);
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
