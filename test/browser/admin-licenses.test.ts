import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { makePage } from '../../build/page.ts';
import { type CloudProcess, startCloudProcess } from '../support/cloud/cloud-process.ts';
import { pollUntil } from '../support/poll.ts';
import { startServerHere } from '../support/server-here.ts';
import { createApi, findBarriers, goTo, openPage, PASSWORD, signIn } from './admin-site.ts';
import { startBrowser } from './browser.ts';

let browser: Browser | null = null;
let cloud: CloudProcess;
type Server = Awaited<ReturnType<typeof startServerHere>>;
/** Reaches the cloud. */
let server: Server;
/** Reaches nothing, and does not know the vendor. */
let lonely: Server;
const data = mkdtempSync(join(tmpdir(), 'berth-add-'));
const endings: (() => unknown)[] = [];

before(async () => {
  browser = await startBrowser();
  if (browser === null) return;
  await makePage();
  cloud = await startCloudProcess({ after: (work) => void endings.push(work) });
  const args = ['--cloud-url', cloud.url, '--cloud-public-key', cloud.publicKeyFile];
  server = await startServer('reaching', args);
  lonely = await startServer('lonely', []);
});

async function startServer(name: string, args: readonly string[]): Promise<Server> {
  const started = await startServerHere({ data: join(data, name), args });
  const [, passwordOld] = /one-time password {2}(\S+)/.exec(started.announced) ?? [];
  const api = createApi(started.url);
  const token = await api.signIn('admin', passwordOld as string);
  await api.post('/api/v4/setPassword', { passwordOld, passwordNew: PASSWORD }, token);
  return started;
}

after(async () => {
  await browser?.close();
  await server?.stop();
  await lonely?.stop();
  for (const end of endings.reverse()) await end();
  rmSync(data, { recursive: true, force: true });
});

/** The pages of the servers and of the portal, which all tests share: opening one takes longer than most. */
const pages = new Map<string, Awaited<ReturnType<typeof openPage>>>();

async function findPage(t: TestContext, url: string): Promise<Page> {
  const opened = pages.get(url) ?? (await openPage(browser as Browser, url));
  t.after(opened.check);
  if (!pages.has(url) && url !== cloud.url) {
    await opened.page.goto(url);
    await signIn(opened.page, 'admin', PASSWORD);
  }
  pages.set(url, opened);
  return opened.page;
}

/** The page at this way of adding a license; `null` where there is no browser. */
async function open(t: TestContext, way: string): Promise<Page | null> {
  if (browser === null) {
    t.skip('optional: needs Chromium');
    return null;
  }
  const page = await findPage(t, way === 'online' ? server.url : lonely.url);
  await goTo(page, `licenses/add?way=${way}`);
  return page;
}

/** The vendor's portal. */
async function openPortal(t: TestContext): Promise<Page> {
  const portal = await findPage(t, cloud.url);
  await portal.goto(`${cloud.url}/portal`);
  return portal;
}

async function save(page: Page, button: string, name: string): Promise<string> {
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button }).click(),
  ]);
  const path = join(data, name);
  await saved.saveAs(path);
  return path;
}

/** As if somebody had dragged the file from a folder to this field. */
async function drop(page: Page, label: string, path: string): Promise<void> {
  const zone = page.locator('.field', { has: page.getByLabel(label, { exact: true }) }).locator('.drop');
  await zone.scrollIntoViewIfNeeded();
  const { x, y, width, height } = (await zone.boundingBox()) ?? assert.fail(label);
  const client = await page.context().newCDPSession(page);
  const place = { x: x + width / 2, y: y + height / 2 };
  const dragged = { items: [], files: [path], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
    await client.send('Input.dispatchDragEvent', { type, ...place, data: dragged });
  }
}

/** Leaves the wizard and comes back. */
async function leave(page: Page, way: string): Promise<void> {
  await page.goto(`${lonely.url}/#/overview`);
  await page.getByRole('heading', { name: 'Add a license' }).waitFor({ state: 'detached' });
  await page.goto(`${lonely.url}/#/licenses/add?way=${way}`);
}

async function expectAdded(page: Page, slots: number): Promise<void> {
  await page.getByText(`has ${slots} slots. Applications can take them now.`).waitFor();
  await page.getByRole('link', { name: 'See the license' }).click();
  await page.getByRole('heading', { name: 'Terms' }).waitFor();
}

describe('adding a license', () => {
  test('online: first the keys, then the license key', async (t) => {
    const page = await open(t, 'online');
    if (page === null) return;
    const key = await cloud.grant('online', '--slots', '3');
    await page.getByLabel('API key').fill(cloud.keys.apiKey);
    await page.getByLabel('Shared key').fill(cloud.keys.sharedKey);
    await page.getByRole('button', { name: 'Set the keys' }).click();
    await page.getByLabel('Product code').fill('online');
    await page.getByRole('button', { name: 'Add the license' }).click();
    await page.getByText('This is missing.').waitFor();
    await page.getByLabel('License key').fill(`${key}X`);
    await page.getByRole('button', { name: 'Add the license' }).click();
    await page.getByRole('alert').getByText('The license was not added.').waitFor();
    await page.getByLabel('License key').fill(key);
    await page.getByRole('button', { name: 'Add the license' }).click();
    await expectAdded(page, 3);
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByText('Checked with the vendor.').waitFor();
    const text = await page.locator('body').innerText();
    assert.ok(!text.includes(cloud.keys.sharedKey) && !text.includes(key));
  });

  test('by file: the key first, then a request goes to the portal, and a file comes back', async (t) => {
    const page = await open(t, 'file');
    if (page === null) return;
    const portal = await openPortal(t);
    const key = await cloud.grant('file', '--slots', '4');
    const keep = page.getByRole('button', { name: 'Keep the key' });
    const typed = page.getByLabel('Public key of the vendor');
    await typed.fill('nonsense');
    await keep.click();
    await page.getByText('This is not the public key of a vendor').waitFor();
    assert.equal(await page.getByLabel('License key').count(), 0, 'no request before the key');
    assert.deepEqual(await findBarriers(page), []);
    await drop(page, 'Or its file', cloud.publicKeyFile);
    await pollUntil('the key', async () => (await typed.inputValue()).startsWith('-----') || undefined);
    await keep.click();
    await page.getByLabel('License key').fill(key);
    const request = await save(page, 'Make the request file', 'a.req');
    await leave(page, 'file');
    await page.getByText(`for the license key that ends with ${key.slice(-4)} has no answer yet.`).waitFor();
    await portal.getByLabel('File from the server').setInputFiles(request);
    const license = await save(portal, 'Submit the file', 'a.lic');
    await page.getByRole('button', { name: 'I have the license file' }).click();
    const field = page.getByLabel('License file', { exact: true });
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), field.press('Enter')]);
    await chooser.setFiles(request);
    await page.getByText('a.req').last().waitFor();
    await page.getByRole('button', { name: 'Add the license' }).click();
    await page.getByRole('alert').waitFor();
    await drop(page, 'License file', license);
    await page.getByText('a.lic').waitFor();
    await page.getByRole('button', { name: 'Add the license' }).click();
    await page.getByRole('link', { name: 'Point an application here' }).waitFor();
    await expectAdded(page, 4);
  });

  test('by codes: every code is checked while it is typed', async (t) => {
    const page = await open(t, 'codes');
    if (page === null) return;
    const portal = await openPortal(t);
    const key = await cloud.grant('codes', '--slots', '6');
    const started = (await cloud.run('airgap', 'start', key)) as Readonly<Record<string, string>>;
    const code = started.initialization_code as string;
    const { airgap_public_key } = (await cloud.run('airgap-public-key')) as Readonly<Record<string, string>>;
    await page.getByLabel('Key of confirmation codes').fill(airgap_public_key as string);
    await page.getByRole('button', { name: 'Keep the key' }).click();
    await page.getByLabel('License key').fill(key);
    await page.getByLabel('Initialization code').fill(code.slice(0, -3));
    await page.getByText('are missing').waitFor();
    await page.getByLabel('Initialization code').fill(code);
    await page.getByText('The code is whole.').waitFor();
    await page.getByRole('button', { name: 'Make the activation code' }).click();
    await page.getByRole('img', { name: /^QR code/ }).waitFor();
    assert.deepEqual(await findBarriers(page), []);
    const read = async (title: string) => {
      const lines = (await page.getByRole('group', { name: title }).innerText()).split('\n');
      return lines.map((line) => line.replace(/^\d\s*/, '')).join('\n');
    };
    const form = portal.locator('form[action="/portal/airgap"]');
    await form.getByLabel('License key').fill(key);
    await form.getByLabel('Hardware id').fill(await read('Hardware id'));
    await form.getByLabel('Activation code').fill(await read('Activation code'));
    await form.getByRole('button', { name: 'Confirm' }).click();
    const policyId = await portal.getByLabel('Policy id').inputValue();
    const grouped = await portal.getByLabel('Or type it in groups').inputValue();
    const policy = await save(portal, 'Download the policy file', 'p.lic');
    await leave(page, 'codes');
    await page.getByText(`for the license key that ends with ${key.slice(-4)} has no answer yet.`).waitFor();
    await page.getByRole('button', { name: 'I have the vendor’s answer' }).click();
    await page.getByLabel('License key').fill(key);
    await page.getByLabel('Policy id').fill(policyId);
    await page
      .getByLabel('Confirmation code')
      .fill(grouped.replace(/^./, (sign) => (sign === '0' ? '1' : '0')));
    await page.getByText('There is a mistake in line 1.').waitFor();
    await page.getByRole('button', { name: 'Add the license' }).click();
    await page.getByText('This is missing.').waitFor();
    await page.getByLabel('Confirmation code').fill(grouped);
    await page.getByLabel('Policy file').setInputFiles(policy);
    await page.getByRole('button', { name: 'Add the license' }).click();
    await expectAdded(page, 6);
  });

  test('it is removed after one question', async (t) => {
    const page = await open(t, 'online');
    if (page === null) return;
    await page.goto(`${server.url}/#/licenses`);
    await page.getByRole('link', { name: 'online' }).first().click();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Remove license…' }).click();
    await page.getByRole('button', { name: 'Remove license' }).click();
    await page.getByText('online was removed.').waitFor();
    await page.getByRole('main').getByRole('link', { name: 'online' }).first().waitFor({ state: 'detached' });
  });
});
