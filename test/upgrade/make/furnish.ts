import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Facts } from '../../support/berth-api.ts';
import { pollUntil } from '../../support/poll.ts';
import { type Known, LAST_COUNT, readCode } from '../known.ts';
import type { Site } from '../site.ts';
import { FIRST_RULES, RULES, SETTINGS } from './texts.ts';
import type { Vendor } from './vendor.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const THINNED_MS = 30 * DAY_MS;
/** As long as a license can allow. */
const BORROWED_MS = 3600 * DAY_MS;

const PASSWORD = 'a horse that left the stable';
/** 40 days ago: the vendor's licenses, accounts, the first rules and some use. */
export async function begin(site: Site, vendor: Vendor): Promise<Known> {
  mkdirSync(site.folder, { recursive: true });
  writeFileSync(join(site.folder, 'berth.yaml'), SETTINGS(vendor.url), { mode: 0o600 });
  writeFileSync(join(site.folder, 'vendor.pem'), vendor.publicKey, { mode: 0o600 });
  await site.start();
  const { apiKey, sharedKey } = vendor.keys;
  await site.run(['key', 'set'], `${apiKey}\n${sharedKey}\n`);
  for (const [product, key] of vendor.soldKeys) {
    await site.run(['license', 'add', product, '--license-key', key]);
  }
  await installByFile(site, vendor);
  const known = await addPeople(site);
  await applyRules(site, FIRST_RULES);
  for (const user of ['old-1', 'old-2', 'trudy', 'bob'])
    await site.post('register', { product: 'cad', user });
  await count(site, 'bob', 12, 'first-count-of-bob');
  await site.post('unregister', { product: 'cad', user: 'old-1' });
  await site.stop();
  return known;
}

async function installByFile(site: Site, vendor: Vendor): Promise<void> {
  const [request, license] = [join(site.folder, 'plotter.req'), join(site.folder, 'plotter.lic')];
  await site.run(['offline', 'request', '--license-key', vendor.offlineKey, '--out', request]);
  await vendor.run('offline', 'activate', request, '--out', license);
  await site.run(['offline', 'install', license]);
  for (const file of [request, license]) rmSync(file);
}

async function addPeople(site: Site): Promise<Known> {
  const line = `${PASSWORD}\n`;
  await site.run(['user', 'password', 'admin'], line);
  await site.run(['user', 'add', 'ann', '--role', 'admin'], line);
  await site.run(['user', 'add', 'vic', '--role', 'viewer'], line);
  await site.run(['user', 'add', 'olga', '--role', 'operator', '--products', 'cad'], line);
  await site.run(['user', 'add', 'app', '--role', 'user'], line);
  const make = async (...words: readonly string[]) => {
    const made = await site.run(['token', 'create', ...words, '--days', 'never', '--json']);
    return (JSON.parse(made) as { token: string }).token;
  };
  const tokens = {
    ci: await make('ci', '--role', 'admin'),
    ops: await make('ops', '--role', 'operator', '--products', 'meter'),
    cad: await make('cad', '--role', 'user'),
  };
  site.token = tokens.ci;
  return {
    password: PASSWORD,
    tokens,
    ...(await setUpSecondFactor(site)),
    webhookSecret: '',
    passphrase: '',
  };
}

/** Signs in as a browser does. */
async function setUpSecondFactor(site: Site) {
  const body = { name: 'ann', password: PASSWORD };
  const session = await site.ask('POST /api/admin/session/start', { body });
  const headers = {
    cookie: session.headers.getSetCookie()[0]?.split(';')[0] ?? '',
    'x-berth-csrf': String(session.body.csrf_token),
    origin: site.url,
  };
  const { secret } = await site.demand('POST /api/admin/second-factor/offer', { body: {}, headers });
  const confirmation = { password: PASSWORD, secret, code: await readCode(site, String(secret)) };
  const confirmed = await site.demand('POST /api/admin/second-factor/confirm', {
    body: confirmation,
    headers,
  });
  await site.demand('POST /api/admin/session/end', { body: {}, headers });
  return {
    secondFactor: String(secret),
    recoveryCode: (confirmed.recovery_codes as readonly string[])[0] as string,
  };
}

async function applyRules(site: Site, text: string): Promise<void> {
  await site.demand('POST /api/admin/rules/apply', { body: { text } });
}

async function count(site: Site, user: string, consumptions: number, key: string): Promise<void> {
  const body = { product: 'meter', user, consumptions };
  await site.demand('POST /api/v4/add_consumption', { body, headers: { 'idempotency-key': key } });
}

/** 20 days ago: the rules that are in force, a bar, and more use. */
export async function goOn(site: Site): Promise<void> {
  await site.start();
  await applyRules(site, RULES);
  await site.run(['bar', 'eve', '--note', 'left the company']);
  for (const user of ['old-2', 'new-1', 'eve', 'zoe', 'mallory']) {
    await site.post('register', { product: 'cad', user, os_hostname: `ws-${user}` });
  }
  await count(site, 'new-1', 30, 'count-of-new-1');
  await site.post('add_feature_consumption', { product: 'meter', feature: 'export', consumptions: 4 });
  await site.stop();
}

/** Now: what is held, counted and waiting when the data is taken. */
export async function finish(site: Site, receiver: string): Promise<string> {
  await site.start();
  await site.run(['audit', 'thin', '--before', new Date(Date.now() - THINNED_MS).toISOString().slice(0, 10)]);
  const webhookSecret = (JSON.parse(await site.run(['webhook', 'secret', '--json'])) as { secret: string })
    .secret;
  await site.run(['config', 'set', 'webhooks.url', `${receiver}/hook`]);
  await site.run(['config', 'set', 'notices.slotsPercent', '75']);
  const told = [
    '--topics',
    'clock_jumped',
    '--gap',
    '30',
    '--quiet',
    '20:00-07:00',
    '--zone',
    'Europe/Berlin',
  ];
  const mail = ['--kind', 'mail', '--to', 'it@kestrel.example', '--from', 'berth@kestrel.example'];
  const server = ['--server', `${new URL(receiver).hostname}:2525`, '--security', 'none', '--user', 'berth'];
  await site.run(['notify', 'add', 'it', ...mail, ...server, ...told], 'a password for mail\n');
  await site.run(
    ['notify', 'add', 'chat', '--kind', 'webhook', '--topics', 'slot_denied', '--digest', 'weekly'],
    `${receiver}/chat\nBearer of-the-chat\n`,
  );
  await lend(site);
  await count(site, 'bob', 7, LAST_COUNT.key);
  await site.post('add_feature_consumption', { product: 'meter', feature: 'export', consumptions: 2 });
  await settle(site);
  return webhookSecret;
}

/** Until the vendor knows all counts and has certified everything: then nothing changes by itself. */
async function settle(site: Site): Promise<void> {
  await site.demand('POST /api/admin/licenses/sync', { body: {} });
  await pollUntil('the vendor knows everything', async () => {
    const { meters } = (await site.get('/api/admin/reports')) as { meters: readonly Facts[] };
    const { licenses } = (await site.get('/api/admin/identity')) as { licenses: readonly Facts[] };
    const isReported = meters.every(({ pending, under_way }) => pending === 0 && under_way === null);
    return (isReported && licenses.every(({ certificate }) => certificate !== null)) || undefined;
  });
}

/** Ada's slot has a feature, Grace's is borrowed, and Bob's is in both products. */
async function lend(site: Site): Promise<void> {
  const host = { os_hostname: 'ws-17', ip_local: '10.1.2.3', user_info: 'CAD 7' };
  await site.demand('POST /api/v4/register', { body: { product: 'cad', user: 'ada', ...host } });
  await site.demand('POST /api/v4/featureRegister', {
    body: { product: 'cad', user: 'ada', feature: 'render' },
  });
  const until = new Date(Date.now() + BORROWED_MS).toISOString();
  await site.demand('POST /api/v4/borrow', {
    body: { product: 'cad', user: 'grace', borrowed_until: until },
  });
  for (const product of ['cad', 'meter', 'plotter']) {
    await site.demand('POST /api/v4/register', { body: { product, user: 'bob', instance: 'one' } });
  }
  await site.post('register', { product: 'cad', user: 'zoe' });
}
