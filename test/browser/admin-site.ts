import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';

export const PASSWORD = 'correct horse battery';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A page of its own. `check` fails if it has loaded anything from elsewhere or has thrown. */
export async function openPage(browser: Browser, url: string, options: object = {}) {
  const viewport = { width: 1440, height: 900 };
  const context = await browser.newContext({ viewport, reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const wrong: string[] = [];
  page.on('request', (request) => {
    const address = request.url();
    if (!address.startsWith(url) && !/^(?:data|blob):/.test(address)) wrong.push(address);
  });
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) wrong.push(message.text());
  });
  const check = () => assert.deepEqual(wrong, []);
  const close = async () => {
    await context.close();
    check();
  };
  return { page, check, close };
}

/** Every screen, with the parts of those that have some. */
export function listPlaces(licenseId: number): readonly string[] {
  const ways = ['online', 'file', 'codes'].map((way) => `licenses/add?way=${way}`);
  const parts = 'server cloud users tokens limits notifications forwarding backup password page'.split(' ');
  return [
    ...[
      'overview',
      'slots',
      'licenses',
      `licenses/${licenseId}`,
      ...ways,
      'rules',
      'reports',
      'audit',
      'people/ada',
      'api',
    ],
    ...parts.map((part) => `settings/${part}`),
  ];
}

/** Goes to another place of the page, as a link does, and waits until its data is there. */
export async function goTo(page: Page, path: string): Promise<void> {
  const hash = JSON.stringify(`#/${path}`);
  await page.evaluate(`location.hash === ${hash} || new Promise((resolve) => {
    addEventListener('hashchange', resolve, { once: true });
    location.hash = ${hash};
  })`);
  await page.locator('main :is(h1, h2)').first().waitFor();
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
}

export async function signIn(page: Page, name: string, password: string): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Screens' }).first().waitFor();
}

export async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account / }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
}

/** What axe-core calls serious or critical, with the elements. */
export async function findBarriers(page: Page, rules: readonly string[] = []): Promise<readonly string[]> {
  // Another place behind the `#` is the same page.
  if (await page.evaluate('globalThis.axe === undefined')) await page.evaluate(AXE);
  return page.evaluate(
    async (only) => {
      const { axe } = globalThis as unknown as {
        axe: { run(options: object): Promise<{ violations: Violation[] }> };
      };
      interface Violation {
        readonly id: string;
        readonly impact: string;
        readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
      }
      const { violations } = await axe.run({
        resultTypes: ['violations'],
        ...(only.length === 0 ? {} : { runOnly: only }),
      });
      return violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
    },
    [...rules],
  );
}

type Fields = Readonly<Record<string, unknown>>;

/** The API as programs use it. */
export function createApi(url: string) {
  const send = async (path: string, body: object | null, token: string | null) => {
    const headers = {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    };
    const init = body === null ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, init);
    return { status: response.status, body: (await response.json()) as Fields };
  };
  return {
    register: (product: string, user: string, os_hostname = 'ws-1', instance: string | null = null) =>
      send('/api/v4/register', { product, user, os_hostname, instance }, null),
    post: (path: string, body: object, token: string) => send(path, body, token),
    get: (path: string, token: string) => send(path, null, token),
    async signIn(name: string, password: string): Promise<string> {
      const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
      const response = await fetch(`${url}/auth`, { headers: { authorization } });
      return ((await response.json()) as { token: string }).token;
    },
  };
}
