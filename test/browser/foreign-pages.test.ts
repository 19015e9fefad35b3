import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Browser, BrowserContext, Response } from 'playwright-core';
import { pollUntil } from '../support/poll.ts';
import { startServerHere } from '../support/server-here.ts';
import { seedLicenses, temporaryFolder } from '../support/server-process.ts';
import { startBrowser } from './browser.ts';
import { borrowSlot, bundleClient, createVendor, readSlot, resumeSlot, takeSlot } from './client-page.ts';

/** What real pages in a real browser can do to a server on the same machine. */

let browser: Browser | null = null;
let context: BrowserContext | null = null;
let hasClock = false;
let server: Awaited<ReturnType<typeof startServerHere>>;
let clientModule = '';
const vendor = createVendor('vendor');
const site = createServer(({ url }, answer) => {
  if (url === '/client.js') answer.setHeader('content-type', 'text/javascript').end(clientModule);
  else answer.setHeader('content-type', 'text/html').end('<p>A page');
});

after(async () => {
  await browser?.close();
  site.close();
  await server?.stop();
});

const data = temporaryFolder({ after });

before(async () => {
  browser = await startBrowser('--host-resolver-rules=MAP *.example 127.0.0.1');
  if (browser === null) return;
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  const origins = `${siteAt('app.example')},${siteAt('localhost')}`;
  const args = ['--demo', '--http-allowed-origins', origins, `--cloud-public-key=${vendor.publicKey}`];
  clientModule = await bundleClient();
  await seedLicenses(data);
  server = await startServerHere({ data, args });
  await vendor.certify(server.url);
});

function siteAt(name: string): string {
  return `http://${name}:${(site.address() as AddressInfo).port}`;
}

/** The page's clock jumps ahead by this. To the client that is sleep, so it renews with a new grant. */
const RENEWAL_MS = 400_000;

/** By default a page that browsers trust, as over TLS: others have no Web Crypto. The test sets its clock. */
async function openApplication(t: TestContext, name = 'localhost') {
  const opened = await openPage(t, () => siteAt(name));
  if (opened === null) return null;
  if (!hasClock) await opened.page.clock.install();
  hasClock = true;
  const { publicKey: vendorKey } = vendor;
  const application = { module: '/client.js', server: server.url, product: 'demo', vendorKey };
  return { page: opened.page, application };
}

interface Attempt {
  url: string;
  /** Makes it a POST. */
  body?: string;
  type?: string;
  mode?: 'cors' | 'no-cors';
}

/** A page, and what it can read of an answer; `null` where there is no browser. */
async function openPage(t: TestContext, readUrl: () => string) {
  if (browser === null) {
    t.skip('optional: needs Chromium');
    return null;
  }
  // One page at a time visits all sites: opening one takes longer than most tests.
  context ??= await browser.newContext({ bypassCSP: true });
  const page = context.pages()[0] ?? (await context.newPage());
  await page.goto(readUrl());
  return { page, attempt: (attempt: Attempt) => page.evaluate(tryFetch, attempt) };
}

/** Runs in the page. */
async function tryFetch({ url, body, type = 'text/plain', mode = 'cors' }: Attempt) {
  const init = body === undefined ? {} : { method: 'POST', body, headers: { 'content-type': type } };
  return fetch(url, { ...init, mode }).then(
    async (answer) => ({ status: answer.status, text: await answer.text() }),
    () => ({ status: 0, text: '' }),
  );
}

const NOTHING = { status: 0, text: '' };

/** Asked as a program: fetch in Node is one. */
async function readSlots(): Promise<string> {
  const answer = await fetch(`${server.url}/api/admin/registrations`);
  assert.equal(answer.status, 200);
  return answer.text();
}

describe('in a browser', () => {
  test('a foreign page borrows nothing and reads nothing', async (t) => {
    const opened = await openPage(t, () => siteAt('evil.example'));
    if (opened === null) return;
    for (const mode of ['cors', 'no-cors'] as const) {
      const attempt = { url: `${server.url}/api/v4/borrow`, body: '{"user": "drive-by"}', mode };
      assert.deepEqual(await opened.attempt(attempt), NOTHING);
    }
    assert.deepEqual(await opened.attempt({ url: `${server.url}/api/v4/license` }), NOTHING);
    assert.doesNotMatch(await readSlots(), /drive-by/);
  });

  test('a page of an allowed origin registers, and reads answers and refusals', async (t) => {
    const opened = await openPage(t, () => siteAt('app.example'));
    if (opened === null) return;
    const register = (body: string) =>
      opened.attempt({ url: `${server.url}/api/v4/register`, body, type: 'application/json' });
    assert.equal((await register('{"user": "page"}')).status, 200);
    assert.match(await readSlots(), /"page"/);
    const refused = await register('{');
    assert.equal(refused.status, 400);
    assert.match(refused.text, /"invalid_json"/);
    assert.deepEqual(await opened.attempt({ url: `${server.url}/api/admin/status` }), NOTHING);
  });

  test('the client package keeps a slot, and returns it when its page is closed', async (t) => {
    const opened = await openApplication(t);
    if (opened === null) return;
    const { page, application } = opened;
    const { user, proven } = await page.evaluate(takeSlot, application);
    assert.match(user ?? '', /^web@browser\/\w{8}$/);
    assert.equal(proven, user, 'the vendor has licensed the server');
    assert.ok((await readSlots()).includes(user as string));
    const before = await page.evaluate(readSlot);
    const isRenewal = (answer: Response) =>
      answer.url().endsWith('/register') && answer.request().method() === 'POST';
    await Promise.all([page.waitForResponse(isRenewal), page.clock.fastForward(RENEWAL_MS)]);
    const renewed = await pollUntil('the renewal', async () => {
      const now = await page.evaluate(readSlot);
      return now.issuedAt === before.issuedAt ? undefined : now;
    });
    assert.equal(renewed.isHeld, true);
    await page.close({ runBeforeUnload: true });
    await pollUntil('the return', async () =>
      (await readSlots()).includes(user as string) ? undefined : true,
    );
  });

  test('the client package finds its borrow in localStorage, and trusts no other vendor', async (t) => {
    const opened = await openApplication(t);
    if (opened === null) return;
    const { page, application } = opened;
    const stranger = { ...application, vendorKey: createVendor('stranger').publicKey };
    assert.equal((await page.evaluate(takeSlot, stranger)).error?.code, 'not_proven');
    const borrowed = await page.evaluate(borrowSlot, application);
    assert.ok((await readSlots()).includes(borrowed.user));
    await page.reload();
    const { found, isValid, isBorrowed } = await page.evaluate(resumeSlot, application);
    assert.deepEqual({ found, isValid, isBorrowed }, { found: borrowed, isValid: true, isBorrowed: true });
    assert.ok(!(await readSlots()).includes(borrowed.user));
  });

  test('the client package says so if the page has no Web Crypto', async (t) => {
    const opened = await openApplication(t, 'app.example');
    if (opened === null) return;
    const { error } = await opened.page.evaluate(takeSlot, opened.application);
    assert.equal(error?.message, 'Nothing can be verified here: there is no Web Crypto.');
  });

  test('a page under a rebound name cannot read the license', async (t) => {
    const rebound = () => `http://rebound.example:${new URL(server.url).port}/api/v4/docs`;
    const opened = await openPage(t, rebound);
    if (opened === null) return;
    const refused = await opened.attempt({ url: '/api/v4/license' });
    assert.equal(refused.status, 403);
    assert.match(refused.text, /"host_not_allowed"/);
    await opened.page.goto(`${server.url}/api/v4/docs`);
    assert.equal((await opened.attempt({ url: '/api/v4/license' })).status, 200);
  });
});
