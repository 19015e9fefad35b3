import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { brotliDecompressSync } from 'node:zlib';
import connect from 'postgres';
import type { Facts } from '../support/berth-api.ts';
import { pollUntil } from '../support/poll.ts';
import { hasPostgres, sharedPostgres } from '../support/stores/postgres.ts';
import { useDatabase } from '../support/stores/test-stores.ts';
import { type Asked, readFacts } from './facts.ts';
import { expectKept } from './kept.ts';
import { Release } from './release.ts';
import { listSlots, type Site } from './site.ts';

const SLOTS = 5;
const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const postgres = sharedPostgres();

for (const release of Release.list()) {
  const { asked, facts } = release.readTaken().answers.postgres;

  describe(`the database of ${release.version}`, { skip }, () => {
    test('is kept in everything that administrators see', async (t) => {
      const site = await openSite(t, release, await load(release));
      await site.start();
      expectKept(facts, await readFacts(site, asked));
    });

    test(`serves ${release.version} and this version together`, async (t) => {
      const url = await load(release);
      const [old, young] = [await openSite(t, release, url), await openSite(t, release, url)];
      old.program = release.unpackProgram(t);
      await old.start();
      // What it asks the database is prepared before the other one may change the tables.
      assert.equal(await register(old, 'bob'), 'lent');
      await young.start();
      const both = [old, young];
      expectKept(facts, await readPatiently(old, asked));
      expectKept(facts, await readFacts(young, asked));
      await lendTogether(both);
      await waitTogether(old, young);
      await waitTogether(young, old);
      await countTogether(both);
      await ruleTogether(old, young);
      await ruleTogether(young, old);
      await setTogether(old, young);
      const held = await listSlots(old);
      assert.equal((await old.get('/api/admin/audit/verify')).ok, true);
      assert.equal((await readPlain(url)).length, 1);
      await old.stop();
      assert.deepEqual(await listSlots(young), held);
      await pollUntil('it is sealed', async () => (await readPlain(url)).length === 0 || undefined);
      assert.equal(await readWebhook(young), 'https://second.example/…');
      assert.equal((await young.get('/api/admin/audit/verify')).ok, true);
      // Once this version has changed the tables, the release can go on but not start.
      const refusal = await old.tryToStart();
      if (refusal === null) assert.deepEqual(await listSlots(old), await listSlots(young));
      else assert.match(refusal, /The data was written by a newer Berth/);
    });
  });
}

/** The rows of the release in a new database. */
async function load(release: Release): Promise<string> {
  const url = await (await postgres()).createDatabase();
  const text = brotliDecompressSync(readFileSync(release.path('postgres.sql.br'))).toString('utf8');
  const sql = connect(url, { max: 1, fetch_types: false, onnotice: () => {} });
  // Lines that begin like this are for psql.
  await sql.unsafe(text.replaceAll(/^\\.*$/gm, ''));
  await sql.end();
  return url;
}

async function openSite(t: TestContext, release: Release, url: string): Promise<Site> {
  const site = release.unpackSite(t, 'settings');
  useDatabase(site.data, url);
  return site;
}

/** When tables have changed, each connection of 0.1.0 fails once, and clients repeat what they asked. */
function readPatiently(site: Site, asked: Asked): Promise<Facts> {
  return pollUntil('nothing fails', () =>
    readFacts(site, asked).catch((error: Error) => {
      if (!error.message.includes('"store_unavailable"')) throw error;
      return undefined;
    }),
  );
}

async function register(site: Site, user: string, more: Facts = {}) {
  const { status, body } = await site.post('register', { product: 'cad', user, ...more });
  return status === 200 ? 'lent' : body.code;
}

/** All slots are taken. Holders renew anywhere, and of those who ask for one that is returned one gets it. */
async function lendTogether(both: readonly Site[]): Promise<void> {
  const [old, young] = both as [Site, Site];
  const users = (await listSlots(old)).flatMap(({ product, user }) => (product === 'cad' ? [user] : []));
  assert.equal(users.length, SLOTS);
  const renewals = both.flatMap((site) => users.map((user) => register(site, user)));
  assert.deepEqual(new Set(await Promise.all(renewals)), new Set(['lent']));
  await young.post('unregister', { product: 'cad', user: 'new-1' });
  const races = Array.from({ length: 8 }, (_, n) => register(both[n % 2] as Site, `cad-${n}`));
  const lent = (await Promise.all(races)).filter((answer) => answer === 'lent');
  assert.equal(lent.length, 1);
  for (const site of both) {
    assert.equal((await listSlots(site)).filter(({ product }) => product === 'cad').length, SLOTS);
    assert.equal(await register(site, 'zoe'), 'blacklisted');
  }
  assert.deepEqual(await listSlots(old), await listSlots(young));
}

/** Somebody waits at one server, and gets what is returned at the other. */
async function waitTogether(waiting: Site, returning: Site): Promise<void> {
  const slots = (await listSlots(returning)).filter(({ product }) => product === 'cad');
  const leaver = slots.find(({ borrowed_until, user }) => borrowed_until === null && user !== 'bob')?.user;
  const user = `old-${leaver}`;
  const waited = waiting.post('register', { product: 'cad', user }, { prefer: 'wait=30' });
  for (const site of [waiting, returning]) {
    await pollUntil('both see who waits', async () => {
      return JSON.stringify(await site.get('/api/admin/line')).includes(`"${user}"`) || undefined;
    });
  }
  await returning.post('unregister', { product: 'cad', user: leaver });
  assert.equal((await waited).status, 200);
}

async function countTogether(both: readonly Site[]): Promise<void> {
  const [old, young] = both as [Site, Site];
  const readTotal = async (site: Site) =>
    (await site.get('/api/v4/license?product=meter')).total_consumptions;
  const before = Number(await readTotal(old));
  const count = async (site: Site, key: string) => {
    return (await site.post('add_consumption', { product: 'meter' }, { 'idempotency-key': key })).status;
  };
  const counts = both.flatMap((site) => ['a', 'b', 'c'].map((key) => count(site, key)));
  assert.deepEqual(new Set(await Promise.all(counts)), new Set([200]));
  assert.deepEqual([await readTotal(old), await readTotal(young)], [before + 3, before + 3]);
}

/** What an administrator changes at one server holds at the other. */
async function ruleTogether(changing: Site, obeying: Site): Promise<void> {
  const { text, revision } = await changing.get('/api/admin/rules');
  const body = { text: String(text).replace('[mallory]', '[mallory, grace]') };
  await changing.demand('POST /api/admin/rules/apply', { body });
  assert.equal(await register(obeying, 'grace'), 'blacklisted');
  await obeying.demand('POST /api/admin/rules/revert', { body: { revision } });
  assert.equal(await register(changing, 'grace'), 'lent');
}

/** This version seals the address of the webhook when it leads. Until then, both have what was set last. */
async function setTogether(old: Site, young: Site): Promise<void> {
  await setWebhook(young, 'https://first.example/secret');
  assert.deepEqual([await readWebhook(young), await readWebhook(old)], ['https://first.example/…', '']);
  await setWebhook(old, 'https://second.example/secret');
  await young.stop();
  await young.start();
  for (const site of [old, young]) assert.equal(await readWebhook(site), 'https://second.example/…');
}

function setWebhook(site: Site, url: string): Promise<Facts> {
  return site.demand('POST /api/admin/settings', { body: { changes: { 'webhooks.url': url } } });
}

async function readWebhook(site: Site): Promise<unknown> {
  const { settings } = (await site.get('/api/admin/settings')) as { settings: readonly Facts[] };
  return settings.find(({ name }) => name === 'webhooks.url')?.value;
}

async function readPlain(url: string): Promise<readonly unknown[]> {
  const sql = connect(url, { max: 1, fetch_types: false });
  const rows = await sql.unsafe("SELECT value FROM setting WHERE name = 'webhooks.url' AND value <> 'null'");
  await sql.end();
  return rows;
}
