import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { makePage } from '../../build/page.ts';
import { instant } from '../../packages/server/src/core/nouns/instant.ts';
import { createApi, PASSWORD, signIn } from './admin-site.ts';
import { startBrowser } from './browser.ts';
import { SAMPLE_RULES, startSampleSite } from './sample-site.ts';

/** Where the README and docs/operating.md find them. */
const FOLDER = fileURLToPath(new URL('../../docs/screenshots', import.meta.url));

const DESKTOP = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };

/** What the clocks of the server and the browser say: a working day, whenever the pictures are taken. */
const NOW = instant(Date.UTC(2026, 10, 19, 14, 32));

/** Those of the docs; with `--all`, every screen in both themes and on a phone. */
const SHOWN: readonly Shot[] = [
  { name: 'overview', path: 'overview', colorScheme: 'light', viewport: { width: 1440, height: 1080 } },
  { name: 'slots', path: 'slots?license=101', colorScheme: 'light', viewport: DESKTOP },
  {
    name: 'reports-dark',
    path: 'reports?license=101',
    colorScheme: 'dark',
    viewport: { width: 1440, height: 1180 },
  },
  {
    name: 'rules',
    path: 'rules',
    colorScheme: 'light',
    viewport: { width: 1440, height: 1240 },
    press: 'Try on 30 days',
  },
  { name: 'overview-phone', path: 'overview', colorScheme: 'dark', viewport: PHONE },
];

interface Shot {
  readonly name: string;
  readonly path: string;
  readonly colorScheme: 'light' | 'dark';
  readonly viewport: { readonly width: number; readonly height: number };
  /** A button that is pressed first. */
  readonly press?: string;
}

const PATHS = [
  ...['overview', 'slots', 'licenses', 'licenses/101', 'licenses/102', 'rules', 'audit'],
  ...['reports', 'reports?license=all&period=today'],
  ...['online', 'file', 'codes'].map((way) => `licenses/add?way=${way}`),
  ...'server cloud users tokens limits notifications backup password page'
    .split(' ')
    .map((part) => `settings/${part}`),
];

function listAll(): readonly Shot[] {
  const looks = [
    ['light', DESKTOP, 'desktop-light'],
    ['dark', DESKTOP, 'desktop-dark'],
    ['light', PHONE, 'phone-light'],
    ['dark', PHONE, 'phone-dark'],
  ] as const;
  return looks.flatMap(([colorScheme, viewport, look]) =>
    PATHS.map((path) => ({ name: `${path.replace(/\W+/g, '-')}-${look}`, path, colorScheme, viewport })),
  );
}

/** Runs in the page. */
function shiftDate(byMs: number): void {
  const { Date: RealDate } = globalThis;
  const now = () => RealDate.now() + byMs;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, given) => Reflect.construct(target, given.length === 0 ? [now()] : given),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
}

async function takeAll(browser: Browser, url: string, shots: readonly Shot[], folder: string): Promise<void> {
  for (const { name, path, colorScheme, viewport, press } of shots) {
    const context = await browser.newContext({ colorScheme, viewport, timezoneId: 'UTC' });
    await context.addInitScript(shiftDate, NOW - Date.now());
    const page = await context.newPage();
    await page.goto(`${url}/#/${path}`);
    await signIn(page, 'admin', PASSWORD);
    await page.waitForLoadState('networkidle', { timeout: 2000 }).catch(() => {});
    if (press !== undefined) {
      await page.getByRole('button', { name: press }).click();
      await page.locator('.progress').waitFor({ state: 'detached' });
      await page.evaluate('document.activeElement.blur()');
    }
    await page.mouse.move(0, 0);
    await page.screenshot({ path: join(folder, `${name}.png`) });
    await context.close();
    process.stdout.write(`${name}.png\n`);
  }
}

/** `npm run screenshots`, or with `-- --all FOLDER [PART]` all screens, or those with PART in their name. */
async function main(): Promise<void> {
  const [all, folder = FOLDER, part = ''] = process.argv.slice(2);
  const shots = (all === '--all' ? listAll() : SHOWN).filter(({ name }) => name.includes(part));
  const browser = await startBrowser();
  if (browser === null) throw new Error('This needs Chromium. Install the package "chromium".');
  await makePage();
  const data = mkdtempSync(join(tmpdir(), 'berth-screenshots-'));
  const server = await startSampleSite(data, PASSWORD, NOW);
  const api = createApi(server.url);
  await api.post('/api/admin/rules/apply', { text: SAMPLE_RULES }, await api.signIn('admin', PASSWORD));
  mkdirSync(folder, { recursive: true });
  try {
    await takeAll(browser, server.url, shots, folder);
  } finally {
    await browser.close();
    await server.stop();
    rmSync(data, { recursive: true, force: true });
  }
}

await main();
