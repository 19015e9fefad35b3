import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  type ServerProcess,
  seedLicenses,
  startServerProcess,
  temporaryFolder,
} from '../support/server-process.ts';
import { startBrowser } from './browser.ts';

/** What real pages in a real browser can do to a server on the same machine. */

let browser: Browser | null = null;
let server: ServerProcess;
const site = createServer((_, answer) => answer.setHeader('content-type', 'text/html').end('<p>A page'));

after(async () => {
  await browser?.close();
  site.close();
  await server?.stop('SIGKILL');
});

const data = temporaryFolder({ after });

before(async () => {
  browser = await startBrowser('--host-resolver-rules=MAP *.example 127.0.0.1');
  if (browser === null) return;
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  const args = ['--demo', '--http-allowed-origins', siteAt('app.example')];
  await seedLicenses(data);
  server = await startServerProcess({ data, args });
});

function siteAt(name: string): string {
  return `http://${name}:${(site.address() as AddressInfo).port}`;
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
  const context = await browser.newContext({ bypassCSP: true });
  t.after(() => context.close());
  const page = await context.newPage();
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
