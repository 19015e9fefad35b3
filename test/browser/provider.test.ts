import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { makePage } from '../../build/page.ts';
import { findFreePort } from '../support/free-port.ts';
import { CLIENT, openRealProvider } from '../support/openid/real-provider.ts';
import { startServerHere } from '../support/server-here.ts';
import { findBarriers, goTo } from './admin-site.ts';
import { startBrowser } from './browser.ts';

const PEOPLE = {
  ann: { preferred_username: 'ann@example.com', groups: ['berth-admins', 'staff'] },
  bob: { preferred_username: 'bob@example.com', groups: ['staff'] },
  eve: { preferred_username: '<i>eve</i>', groups: ['<img src=x onerror="window.hurt=1">'] },
};

let browser: Browser | null = null;
let page = '';
let server: Awaited<ReturnType<typeof startServerHere>>;
let provider: Awaited<ReturnType<typeof openRealProvider>>;
const endings: (() => unknown)[] = [];

before(async () => {
  browser = await startBrowser();
  if (browser === null) return;
  await makePage();
  const port = await findFreePort();
  // For the browser, this is another site than that of the provider.
  page = `http://localhost:${port}/`;
  provider = await openRealProvider({ after: (work) => endings.push(work) }, { page, people: PEOPLE });
  const data = mkdtempSync(join(tmpdir(), 'berth-provider-'));
  endings.push(() => rmSync(data, { recursive: true, force: true }));
  const flags = {
    port: String(port),
    'auth-oidc-issuer': provider.issuer,
    'auth-oidc-name': 'Company',
    'auth-oidc-client-id': CLIENT.id,
    'auth-oidc-admins': 'berth-admins',
    'auth-oidc-viewers': 'staff',
  };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  const env = { BERTH_AUTH_OIDC_CLIENT_SECRET: CLIENT.secret };
  server = await startServerHere({ data, args, env });
});

after(async () => {
  await browser?.close();
  await server?.stop();
  for (const end of endings.reverse()) await end();
});

/** The tab of all tests: opening one takes longer than most of them. */
let shared: Page | undefined;
const errors: string[] = [];

async function openTab(browser: Browser): Promise<Page> {
  const opened = await browser.newPage({ reducedMotion: 'reduce' });
  opened.on('pageerror', (error) => errors.push(error.message));
  return opened;
}

/** The tab, which has forgotten everything; `null` where there is no browser. */
async function openNew(t: TestContext) {
  if (browser === null) {
    t.skip('optional: needs Chromium');
    return null;
  }
  shared ??= await openTab(browser);
  const tab = shared;
  const context = tab.context();
  await tab.goto('about:blank');
  await context.clearCookies();
  const client = await context.newCDPSession(tab);
  await client.send('Storage.clearDataForOrigin', { origin: page, storageTypes: 'all' });
  t.after(() => assert.deepEqual(errors, []));
  const signIn = async (who: string) => {
    await tab.getByRole('button', { name: 'Sign in with Company' }).click();
    await tab.getByRole('link', { name: who }).click();
  };
  return { tab, context, signIn };
}

describe('in a browser, the provider', () => {
  test('signs in a viewer on a new server, who is told to leave the setup to others', async (t) => {
    const opened = await openNew(t);
    if (opened === null) return;
    const { tab, signIn } = opened;
    await tab.goto(page);
    await signIn('bob');
    await tab.getByText('You are signed in as oidc:bob@example.com, who is no administrator.').waitFor();
    assert.deepEqual(await findBarriers(tab), []);
    await tab.getByLabel('One-time password').fill('not the one');
    await tab.getByLabel('New password').fill('correct horse battery');
    await tab.getByRole('button', { name: 'Set the password' }).click();
    await tab.getByText('This is not the one-time password that the server printed.').waitFor();
    await tab.getByRole('button', { name: 'Sign out' }).click();
    await tab.waitForURL(`${provider.issuer}/**`);
    await tab.getByRole('button', { name: /^Yes/ }).click();
    await tab.waitForURL(`${page}**`);
    await tab.getByRole('heading', { name: 'Set up this server' }).waitFor();
    assert.equal(await tab.getByText('who is no administrator').count(), 0);
  });

  test('signs in an administrator on a new server, and out again', async (t) => {
    const opened = await openNew(t);
    if (opened === null) return;
    const { tab, context, signIn } = opened;
    await tab.goto(page);
    assert.deepEqual(await findBarriers(tab), []);
    await signIn('ann');
    await tab.getByRole('heading', { name: 'Set up this server' }).waitFor();
    await tab.getByText('berth user password admin').waitFor();
    await tab.getByRole('button', { name: 'Use the demo license' }).click();
    await tab.getByRole('link', { name: 'Go to the Overview' }).click();
    const account = tab.getByRole('button', { name: /^Account oidc:ann@example\.com ?, admin$/ });
    await account.waitFor();
    assert.equal(new URL(tab.url()).search, '', 'the address has forgotten the code');
    const [session] = (await context.cookies(page)).filter(({ name }) => name === 'berth');
    assert.deepEqual([session?.sameSite, session?.httpOnly], ['Strict', true]);
    await goTo(tab, 'settings/password');
    await tab.getByText('You have no password here').waitFor();
    await account.click();
    assert.doesNotMatch(await tab.getByRole('menu').innerText(), /password/);
    await tab.getByRole('menuitem', { name: 'Sign out' }).click();
    await tab.waitForURL(`${provider.issuer}/**`);
    await tab.getByRole('button', { name: /^Yes/ }).click();
    await tab.waitForURL(`${page}**`);
    await tab.getByRole('heading', { name: 'Sign in' }).waitFor();
    assert.deepEqual(await findBarriers(tab), []);
    await signIn('bob');
    await tab.getByRole('button', { name: /^Account oidc:bob@example\.com ?, viewer$/ }).waitFor();
  });

  test('leads back to where the page was', async (t) => {
    const opened = await openNew(t);
    if (opened === null) return;
    const { tab, signIn } = opened;
    await tab.goto(`${page}#/slots?sort=user`);
    await signIn('ann');
    await tab.getByRole('heading', { name: 'Slots', level: 1 }).waitFor();
    assert.equal(tab.url(), `${page}#/slots?sort=user`);
    await tab.reload();
    await tab.getByRole('heading', { name: 'Slots', level: 1 }).waitFor();
  });

  test('is quoted as text if somebody has no role, and then somebody else can sign in', async (t) => {
    const opened = await openNew(t);
    if (opened === null) return;
    const { tab, context, signIn } = opened;
    await tab.goto(page);
    await signIn('eve');
    const alert = tab.getByRole('alert');
    const told = await alert.innerText();
    assert.match(told, /You were not signed in with Company\.\s+"<i>eve<\/i>" has no role here\./);
    assert.match(told, /"<img src=x onerror='window\.hurt=1'>"/);
    assert.equal(await tab.evaluate('window.hurt'), undefined);
    assert.deepEqual(await findBarriers(tab), []);
    await context.clearCookies();
    await signIn('bob');
    await tab.getByRole('button', { name: /^Account oidc:bob@example\.com ?, viewer$/ }).waitFor();
  });

  test('is not needed by sessions', async (t) => {
    const opened = await openNew(t);
    if (opened === null) return;
    const { tab, signIn } = opened;
    await tab.goto(page);
    await signIn('bob');
    await tab.getByRole('button', { name: /^Account oidc:bob/ }).waitFor();
    provider.stop();
    await tab.reload();
    await tab.getByRole('button', { name: /^Account oidc:bob/ }).waitFor();
  });

  test('may be away: then the page says so, and what else works', async (t) => {
    const opened = await openNew(t);
    if (opened === null) return;
    const { tab } = opened;
    const data = mkdtempSync(join(tmpdir(), 'berth-provider-'));
    endings.push(() => rmSync(data, { recursive: true, force: true }));
    const issuer = `http://127.0.0.1:${await findFreePort()}`;
    const args = ['--auth-oidc-issuer', issuer, '--auth-oidc-client-id', CLIENT.id];
    const other = await startServerHere({ data, args });
    t.after(other.stop);
    await tab.goto(other.url);
    await tab.getByRole('button', { name: `Sign in with ${new URL(issuer).host}` }).click();
    const told = await tab.getByRole('alert').innerText();
    assert.match(told, /cannot be reached \(ECONNREFUSED\)\. Try again later, or sign in with an account/);
  });
});
