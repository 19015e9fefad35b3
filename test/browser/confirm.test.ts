import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { makePage } from '../../build/page.ts';
import { codeAt, stepAt } from '../../packages/server/src/services/access/one-time-code.ts';
import { findFreePort } from '../support/free-port.ts';
import { CLIENT, openRealProvider } from '../support/openid/real-provider.ts';
import { startServerHere } from '../support/server-here.ts';
import { createApi, findBarriers, goTo, openPage, PASSWORD } from './admin-site.ts';
import { startBrowser } from './browser.ts';

const PASSPHRASE = 'a passphrase to keep';
const OTHER = 'another password, as long';

let browser: Browser | null = null;
let url = '';
let secret = '';
const endings: (() => unknown)[] = [];

before(async () => {
  browser = await startBrowser();
  if (browser === null) return;
  await makePage();
  const port = await findFreePort();
  url = `http://localhost:${port}/`;
  const people = { ann: { preferred_username: 'ann', groups: ['berth-admins'] } };
  const life = { after: (work: () => unknown) => endings.push(work) };
  const provider = await openRealProvider(life, { page: url, people });
  const data = mkdtempSync(join(tmpdir(), 'berth-confirm-'));
  endings.push(() => rmSync(data, { recursive: true, force: true }));
  const flags = {
    port: String(port),
    'auth-oidc-issuer': provider.issuer,
    'auth-oidc-name': 'Company',
    'auth-oidc-client-id': CLIENT.id,
    'auth-oidc-admins': 'berth-admins',
  };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  const env = { BERTH_AUTH_OIDC_CLIENT_SECRET: CLIENT.secret };
  const server = await startServerHere({ data, args, env });
  endings.push(server.stop);
  const api = createApi(url.slice(0, -1));
  const passwordOld = /[a-z\d]{5}(?:-[a-z\d]{5}){4}/.exec(server.announced)?.[0] ?? '';
  const token = await api.signIn('admin', passwordOld);
  await api.post('/api/v4/setPassword', { passwordOld, passwordNew: PASSWORD }, token);
  const offered = await api.post('/api/admin/second-factor/offer', {}, token);
  secret = String(offered.body.secret);
  const code = codeAt(secret, stepAt(Date.now()) - 1);
  const confirmed = await api.post(
    '/api/admin/second-factor/confirm',
    { secret, code, password: PASSWORD },
    token,
  );
  recovery = confirmed.body.recovery_codes as readonly string[];
});

let recovery: readonly string[] = [];

after(async () => {
  await browser?.close();
  for (const end of endings.reverse()) await end();
});

async function open(t: TestContext) {
  if (browser === null) {
    t.skip('optional: needs Chromium');
    return null;
  }
  const opened = await openPage(browser, url);
  t.after(() => opened.page.context().close());
  return opened;
}

async function signInWithCode(page: Page, code: string | undefined): Promise<void> {
  await page.goto(url);
  await page.getByLabel('Name').fill('admin');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByLabel('Code').fill(code ?? '');
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Screens' }).first().waitFor();
}

async function backUp(page: Page): Promise<void> {
  await goTo(page, 'settings/backup');
  await page.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await page.getByRole('button', { name: 'Back up', exact: true }).click();
}

describe('in a browser, a backup with the master key', () => {
  test('takes the password and the code of whoever is signed in', async (t) => {
    const opened = await open(t);
    if (opened === null) return;
    const { page, check } = opened;
    await signInWithCode(page, recovery[0]);
    await backUp(page);
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await dialog.getByLabel('Your password').fill('not the one');
    await dialog.getByLabel('Code').fill('123456');
    assert.deepEqual(await findBarriers(page), []);
    if (process.env.BERTH_SCREENSHOT !== undefined) {
      await page.screenshot({ path: `${process.env.BERTH_SCREENSHOT}-password.png` });
    }
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    await dialog.getByText('The password is wrong. Nothing was done.').waitFor();
    await dialog.getByLabel('Your password').fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    await dialog.getByText(/^The code is wrong or was used before/).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('alert').getByText('The backup was not made.').waitFor();
    await page.getByRole('button', { name: 'Back up', exact: true }).click();
    await dialog.getByLabel('Your password').fill(PASSWORD);
    await dialog.getByLabel('Code').fill(codeAt(secret, stepAt(Date.now())));
    const download = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    assert.match((await download).suggestedFilename(), /^berth-.*\.backup$/);
    await dialog.waitFor({ state: 'detached' });
    check();
  });

  test('sends somebody of the provider there, and goes on when they are back', async (t) => {
    const opened = await open(t);
    if (opened === null) return;
    const { page } = opened;
    await page.goto(url);
    await page.getByRole('button', { name: 'Sign in with Company' }).click();
    await page.getByRole('link', { name: 'ann' }).click();
    await page.getByRole('button', { name: /^Account oidc:ann/ }).waitFor();
    await backUp(page);
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await dialog.getByRole('button', { name: 'Sign in with Company' }).waitFor();
    assert.deepEqual(await findBarriers(page), []);
    if (process.env.BERTH_SCREENSHOT !== undefined) {
      await page.screenshot({ path: `${process.env.BERTH_SCREENSHOT}-provider.png` });
    }
    await dialog.getByRole('button', { name: 'Sign in with Company' }).click();
    // The provider still knows who it is, and asks all the same.
    await page.getByRole('link', { name: 'ann' }).click();
    await page.waitForURL(`${url}#/settings/backup`);
    const download = page.waitForEvent('download');
    await backUp(page);
    assert.match((await download).suggestedFilename(), /^berth-.*\.backup$/);
  });

  test('is not asked for to change the own password, which takes a code, too', async (t) => {
    const opened = await open(t);
    if (opened === null) return;
    const { page } = opened;
    await signInWithCode(page, recovery[1]);
    await goTo(page, 'settings/password');
    await page.getByLabel('Password now').fill(PASSWORD);
    await page.getByLabel('New password').fill(OTHER);
    const change = page.getByRole('button', { name: 'Change the password' });
    await change.click();
    await page.getByText('The code is missing.').waitFor();
    await page.getByLabel('Code').fill('000000');
    await change.click();
    await page.getByText(/^The code is wrong or was used before/).waitFor();
    await page.getByLabel('Code').fill(recovery[2] ?? '');
    await change.click();
    await page.getByText('Your password was changed.').waitFor();
  });
});
