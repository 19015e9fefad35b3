import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { makePage } from '../../build/page.ts';
import { startServerHere } from '../support/server-here.ts';
import { openWebhookReceiver } from '../support/webhook-receiver.ts';
import {
  createApi,
  findBarriers,
  goTo,
  listPlaces,
  openPage,
  PASSWORD,
  signIn,
  signOut,
} from './admin-site.ts';
import { startBrowser } from './browser.ts';
import { copyName, type Opened, row, selectSlots, visitPeople } from './people-and-slots.ts';
import {
  ADMINISTRATORS_ONLY,
  expectLimited,
  expectNoControl,
  NOT_FOR_SOME_PRODUCTS,
  NOT_FOR_VIEWERS,
} from './roles.ts';
import { useSecondFactor } from './second-factor.ts';
import { changeSettings, loseConnection } from './settings-and-connection.ts';

/** A slow disk may need attention on a busy machine. */
const FINE = /^(?:All is well|One thing needs attention)$/;

const OTHER_PASSWORD = 'a password for the others';

/** Names that would do harm if they were anything but text. */
const HOSTILE = [
  '<img src=x onerror="window.hurt=1">',
  '=HYPERLINK("http://x.example";"y")',
  'שלום עולם',
  '😀😀 smile',
  `${'long'.repeat(62)}-end`,
];

let browser: Browser | null = null;
let server: Awaited<ReturnType<typeof startServerHere>>;
let api: ReturnType<typeof createApi>;
let token = '';
const data = mkdtempSync(join(tmpdir(), 'berth-page-'));

before(async () => {
  browser = await startBrowser();
  if (browser === null) return;
  await makePage();
  server = await startServerHere({ data });
  api = createApi(server.url);
});

after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(data, { recursive: true, force: true });
});

interface Seat {
  readonly opened: Awaited<ReturnType<typeof openPage>>;
  /** Nobody at first. */
  who: string | null;
}

/** Opening a page takes longer than most tests: the administrator has one, and the others share another. */
const seats = new Map<boolean, Seat>();

async function findSeat(isAdmin: boolean): Promise<Seat> {
  const known = seats.get(isAdmin);
  if (known !== undefined) return known;
  const seat = { opened: await openPage(browser as Browser, server.url), who: null };
  seats.set(isAdmin, seat);
  await seat.opened.page.goto(server.url);
  return seat;
}

/** The page of an account, at this place; `null` where there is no browser. */
async function open(t: TestContext, path: string, who = 'admin'): Promise<Opened | null> {
  if (browser === null) {
    t.skip('optional: needs Chromium');
    return null;
  }
  const seat = await findSeat(who === 'admin');
  const { page } = seat.opened;
  t.after(seat.opened.check);
  // The last test may have left it small, or with an open dialog.
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.keyboard.press('Escape');
  if (seat.who !== who) {
    if (seat.who !== null) await signOut(page);
    await signIn(page, who, who === 'admin' ? PASSWORD : OTHER_PASSWORD);
    seat.who = who;
  }
  await page.getByRole('navigation', { name: 'Screens' }).first().waitFor();
  const go = (next: string) => goTo(page, next);
  await go(path);
  return { page, go };
}

describe("the administrator's page", () => {
  test('first run: password, demo license, first slot', async (t) => {
    if (browser === null) return t.skip('optional: needs Chromium');
    const { opened } = await findSeat(true);
    t.after(opened.check);
    const { page } = opened;
    const heading = page.getByRole('heading', { name: 'Set up this server' });
    const top = (await heading.boundingBox())?.y;
    assert.deepEqual(await findBarriers(page), []);
    const set = page.getByRole('button', { name: 'Set the password' });
    await page.getByLabel('One-time password').fill('wrong-wrong-wrong');
    await page.getByLabel('New password').fill(PASSWORD);
    await set.click();
    const faultOf = (label: string) =>
      page
        .locator('.field', { has: page.getByLabel(label) })
        .locator('.fault')
        .innerText();
    assert.match(await faultOf('One-time password'), /^This is not the one-time password/);
    await page.getByLabel('New password').fill('short');
    await set.click();
    assert.equal(await faultOf('New password'), '5 of 12 characters. Type a longer one.');
    const [, oneTime = ''] = /one-time password {2}(\S+)/.exec(server.announced) ?? [];
    await page.getByLabel('One-time password').fill(oneTime);
    await page.getByLabel('New password').fill('password1234');
    await set.click();
    await page
      .getByText(/common/)
      .last()
      .waitFor();
    assert.match(await faultOf('New password'), /common/);
    await page.getByLabel('New password').fill(PASSWORD);
    await set.click();
    await page.getByRole('button', { name: 'Use the demo license' }).click();
    await page.getByText('Waiting for the first slot…').waitFor();
    await page.getByText('Or take a slot by hand, on this machine:').waitFor();
    await page.getByText('The server listens on this machine only.').waitFor();
    await api.register('demo', 'ada');
    await page.getByText('holds the first slot.').waitFor();
    assert.equal((await heading.boundingBox())?.y, top, 'nothing jumps');
    await page.getByRole('link', { name: 'Go to the Overview' }).click();
    await page.getByRole('heading', { name: FINE }).waitFor();
    await signOut(page);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByRole('button', { name: 'Sign in' }).click();
    assert.equal(await faultOf('Name'), 'The name is missing.');
    assert.deepEqual(await findBarriers(page), []);
    token = await api.signIn('admin', PASSWORD);
    for (const [name, role, products] of [
      ['olga', 'operator'],
      ['lena', 'operator', ['demo']],
      ['vera', 'viewer'],
      ['sue', 'viewer'],
    ]) {
      const user = { name, role, products, password: OTHER_PASSWORD };
      await api.post('/api/admin/users/add', user, token);
    }
  });

  test('a slot appears when it is taken, and is released with keys alone, in two browsers', async (t) => {
    const one = await open(t, 'slots');
    const other = await open(t, 'slots', 'olga');
    if (one === null || other === null) return;
    await api.register('demo', 'bob', 'ws-7');
    await row(one.page, 'bob').waitFor();
    await row(other.page, 'bob').waitFor();
    await one.page.keyboard.press('/');
    await one.page.keyboard.type('ws-7');
    await one.page.getByText('1 of 2 slots').waitFor();
    await one.page.keyboard.press('Escape');
    await one.page.keyboard.press('r');
    const dialog = one.page.getByRole('dialog', { name: 'Release this slot?' });
    await dialog.waitFor();
    assert.match(await dialog.innerText(), /bob[\s\S]+ws-7/);
    const focused = () => one.page.evaluate('document.activeElement.textContent');
    assert.equal(await focused(), 'Cancel');
    await one.page.keyboard.press('Tab');
    await one.page.keyboard.press('Enter');
    await one.page.getByText('The slot of bob is free.').waitFor();
    await row(other.page, 'bob').waitFor({ state: 'detached' });
    await one.page.keyboard.press('g');
    await one.page.keyboard.press('r');
    await one.page.getByRole('region', { name: 'Slots over time' }).waitFor();
    await one.page.keyboard.press('g');
    await one.page.keyboard.press('o');
    await one.page.getByRole('heading', { name: FINE }).waitFor();
  });

  test('a barred user is refused, until it is undone', async (t) => {
    const opened = await open(t, 'slots');
    if (opened === null) return;
    const { page } = opened;
    await page.getByRole('button', { name: 'Actions for ada' }).click();
    await page.getByRole('menuitem', { name: /^Bar this user/ }).waitFor();
    await page.keyboard.press('b');
    await page.getByRole('button', { name: 'Bar user' }).click();
    await page.getByText('ada is barred from all licenses.').waitFor();
    assert.equal((await api.register('demo', 'ada')).body.code, 'blacklisted');
    await page.keyboard.press('z');
    await page.getByText('ada is no longer barred.').waitFor();
    assert.equal((await api.register('demo', 'ada')).status, 200);
    await page.getByRole('button', { name: 'Actions for ada' }).click();
    await page.getByRole('menuitem', { name: 'Copy the user' }).click();
    await page.getByText('Copied.').waitFor();
    assert.equal(await page.locator('.toast').count(), 1, 'one toast at a time');
  });

  test('when all slots are taken, the Overview says so and the denial is explained', async (t) => {
    const opened = await open(t, 'overview');
    if (opened === null) return;
    const { page, go } = opened;
    for (const user of HOSTILE.slice(0, 4))
      assert.equal((await api.register('demo', user, user)).status, 200);
    assert.equal((await api.register('demo', 'fay')).status, 400);
    await page.getByRole('heading', { name: /^One license is full/ }).waitFor();
    await page.getByText(/ were refused today\./).waitFor();
    await page
      .getByRole('row')
      .filter({ hasText: 'fay' })
      .getByText(/^All 5 slots/)
      .waitFor();
    await page.getByRole('link', { name: 'All denials' }).click();
    const counted = await api.get('/api/admin/history/denials', token);
    const total = `${counted.body.total} requests`;
    await page.getByRole('heading', { name: `${total} were refused` }).waitFor();
    await page.getByRole('button', { name: /^License:? All licenses/ }).waitFor();
    await go('reports?period=24h');
    await page.getByRole('heading', { name: /^.+ needs 6 slots for .+ without denials$/ }).waitFor();
    const whatIf = page.getByRole('region', { name: 'What if there were more or fewer slots?' });
    await whatIf.getByRole('cell', { name: '6', exact: true }).first().waitFor();
    await page.getByText(`${total}, retries included`).waitFor();
    await page.getByRole('button', { name: 'Other…' }).click();
    await page.getByRole('button', { name: 'Show this period' }).click();
    const denials = page.getByRole('region', { name: 'Denials' });
    await denials.getByText('fay').waitFor();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      denials.getByRole('button', { name: 'CSV' }).click(),
    ]);
    assert.match(readFileSync(await saved.path(), 'utf8'), /floating_not_available,.*fay/);
    await go('audit?kind=slot_denied');
    await page.getByText('fay was refused a slot: all slots are in use').waitFor();
    await go('audit?search=FA&when=today');
    await page.getByText('fay was refused a slot: all slots are in use').waitFor();
    await go('audit?when=2020-01-01..2020-01-31');
    await page.getByText('Nothing fits').waitFor();
  });

  test('hostile names are text everywhere, and in CSV', async (t) => {
    const opened = await open(t, 'slots');
    if (opened === null) return;
    const { page, go } = opened;
    for (const user of HOSTILE.slice(0, 4)) await row(page, user).first().waitFor();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export CSV' }).click(),
    ]);
    const csv = readFileSync(await saved.path(), 'utf8');
    assert.match(csv, /,"'=HYPERLINK/);
    assert.doesNotMatch(csv, /(?:^|,)"?=/m);
    await api.post('/api/admin/registrations/release', { user: HOSTILE[3] }, token);
    assert.equal((await api.register('demo', HOSTILE[4] as string)).status, 200);
    await row(page, '-end').waitFor();
    assert.equal(await copyName(page, HOSTILE[4] as string), HOSTILE[4]);
    // Keys as fast as they can be sent: what one of them changes is in force for the next.
    await page.locator('[data-row="0"]').focus();
    const third = (await page.locator('[data-row="2"] input').getAttribute('aria-label')) as string;
    await Promise.all(['j', 'j', 'Enter'].map((key) => page.keyboard.down(key)));
    await page.getByRole('dialog', { name: third.replace('Select ', ''), exact: true }).waitFor();
    await Promise.all(['j', 'Enter'].map((key) => page.keyboard.up(key)));
    await page.keyboard.press('Escape');
    await row(page, '-end').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('heading').waitFor();
    await go('audit');
    await page.getByText(`${HOSTILE[0]} took a slot`).first().waitFor();
    assert.equal(await page.evaluate('window.hurt'), undefined);
    assert.equal(await page.locator('img').count(), 0);
    const { scrollWidth, clientWidth } = (await page.evaluate(
      'const { scrollWidth, clientWidth } = document.documentElement; ({ scrollWidth, clientWidth })',
    )) as { scrollWidth: number; clientWidth: number };
    assert.ok(scrollWidth <= clientWidth);
  });

  test('a person has a page, whatever the name', async (t) => {
    const opened = await open(t, 'slots');
    if (opened !== null) await visitPeople(opened, api, token, HOSTILE);
  });

  test('slots are selected together, within the filters', async (t) => {
    const opened = await open(t, 'slots?sort=user');
    if (opened !== null) await selectSlots(opened);
  });

  test('settings are saved at once, refused by name, and found by their words', async (t) => {
    const receiver = await openWebhookReceiver(t);
    const opened = await open(t, 'settings/backup');
    if (opened !== null) await changeSettings(opened, api, token, receiver);
  });

  test('viewers and operators see no control that would be refused', async (t) => {
    const [license] = (await api.get('/api/admin/licenses', token)).body.licenses as [{ id: number }];
    const places = ['overview', 'slots', 'licenses', `licenses/${license.id}`, 'rules', 'reports', 'audit'];
    const parts = ['server', 'cloud', 'users', 'tokens', 'limits', 'notifications', 'forwarding', 'backup'];
    const all = [...places, 'people/ada', ...parts.map((part) => `settings/${part}`)];
    const olga = await open(t, 'overview', 'olga');
    if (olga === null) return;
    await expectNoControl(olga, all, ADMINISTRATORS_ONLY, /Release/);
    const lena = (await open(t, 'overview', 'lena')) as Opened;
    await expectNoControl(lena, all, NOT_FOR_SOME_PRODUCTS, /Release/);
    await expectLimited(lena, 'demo');
    const vera = (await open(t, 'overview', 'vera')) as Opened;
    await expectNoControl(vera, all, NOT_FOR_VIEWERS, /Show the slot/);
    await vera.page.keyboard.press('Escape');
    await vera.page.keyboard.press('r');
    assert.equal(await vera.page.getByRole('dialog').count(), 0);
  });

  test('a second factor is turned on, asked for at sign-in, and turned off', async (t) => {
    const opened = await open(t, 'settings/password', 'sue');
    if (opened !== null) await useSecondFactor(opened.page, 'sue', OTHER_PASSWORD);
  });

  test('an ended session leads to sign-in and back to the same place', async (t) => {
    const opened = await open(t, 'slots?state=in_use&sort=user');
    if (opened === null) return;
    const { page } = opened;
    await row(page, 'ada').waitFor();
    const { tokens } = (await api.get('/api/admin/tokens', token)).body as {
      tokens: { id: string; kind: string; account: string; issued_at: string }[];
    };
    const sessions = tokens.filter(({ kind, account }) => kind === 'session' && account === 'admin');
    // An open question must not cover the form.
    await page.keyboard.press('r');
    await page.getByRole('dialog').waitFor();
    for (const { id } of sessions) await api.post('/api/admin/tokens/revoke', { id }, token);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByText('You will be back at Slots.').waitFor();
    await signIn(page, 'admin', PASSWORD);
    await row(page, 'ada').waitFor();
    assert.match(page.url(), /#\/slots\?state=in_use&sort=user$/);
  });

  test('while the connection is lost, nothing looks current and nothing is changed', async (t) => {
    const opened = await open(t, 'slots');
    if (opened !== null) await loseConnection(opened, t);
  });

  test('tabs share the session, and on a slow link the frame is there at once', async (t) => {
    const opened = await open(t, 'overview');
    if (opened === null) return;
    const { page } = opened;
    const tab = await page.context().newPage();
    t.after(() => tab.close());
    const answer = Promise.withResolvers<void>();
    await tab.route(/\/api\//, (route) => answer.promise.then(() => route.continue()));
    await tab.goto(`${server.url}/#/slots`);
    await tab.getByRole('link', { name: 'Overview' }).first().waitFor();
    await tab.locator('.skeleton span').first().waitFor();
    answer.resolve();
    await row(tab, 'ada').waitFor();
    await tab.unrouteAll();
    await signOut(tab);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signIn(page, 'admin', PASSWORD);
    await row(tab, 'ada').waitFor();
  });

  // What a theme or a narrow screen can change; the rest is looked at once.
  const looks = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable'];

  test('no barriers, light and dark', async (t) => {
    const opened = await open(t, 'overview');
    if (opened === null) return;
    const { page, go } = opened;
    const [license] = (await api.get('/api/admin/licenses', token)).body.licenses as [{ id: number }];
    for (const path of listPlaces(license.id)) {
      await go(path);
      assert.deepEqual(await findBarriers(page), [], path);
      await page.emulateMedia({ colorScheme: 'dark' });
      assert.deepEqual(await findBarriers(page, looks), [], `${path}, dark`);
      await page.emulateMedia({ colorScheme: 'light' });
    }
    await page.setViewportSize({ width: 390, height: 900 });
    await go('overview');
    assert.deepEqual(await findBarriers(page, looks), [], 'overview, 390 px');
  });
});
