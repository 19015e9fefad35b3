import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { makeFakedClock } from '../support/faked-clock.ts';
import { pollUntil } from '../support/poll.ts';
import { BERTH } from '../support/program.ts';
import { readFacts } from './facts.ts';
import { expectKept, expectKeptForRelease } from './kept.ts';
import { LAST_COUNT, readCode } from './known.ts';
import { RECEIVERS, Release } from './release.ts';
import { listSlots, type Site } from './site.ts';

/** Only there can a test be the receiver that the data names. */
const skip = process.platform === 'linux' ? false : 'optional: needs the loopback addresses of Linux';

for (const release of Release.list()) {
  const { known, answers } = release.readTaken();
  describe(`the data folder of ${release.version}`, () => {
    test('is kept in everything that administrators see, also after another start', async (t) => {
      const { asked, facts } = answers.stopped;
      const site = release.unpackSite(t, 'stopped');
      for (const _ of ['upgrade', 'restart']) {
        await site.start();
        expectKept(facts, await readFacts(site, asked));
        await site.stop();
      }
    });

    test('is kept after a kill', async (t) => {
      const { asked, facts } = answers.killed;
      const site = release.unpackSite(t, 'killed');
      await site.start();
      expectKept(facts, await readFacts(site, asked));
    });

    test('is served or left alone by the release, once this version has changed it', async (t) => {
      const { asked, facts } = answers.stopped;
      const site = release.unpackSite(t, 'stopped');
      await site.start();
      await site.stop();
      site.program = release.unpackProgram(t);
      const before = readFileSync(join(site.data, 'berth.db'));
      const refusal = await site.tryToStart();
      if (refusal !== null) {
        assert.match(refusal, /The data was written by a newer Berth/);
        assert.deepEqual(readFileSync(join(site.data, 'berth.db')), before);
        site.program = BERTH;
        await site.start();
      }
      expectKeptForRelease(facts, await readFacts(site, asked));
    });

    test('goes on lending', async (t) => {
      const site = release.unpackSite(t, 'stopped');
      await site.start();
      const before = await listHeld(site);
      for (const user of ['ada', 'grace']) {
        assert.equal((await site.post('register', { product: 'cad', user })).status, 200);
      }
      await site.post('register', { product: 'cad', user: 'bob', instance: 'one' });
      assert.deepEqual(await listHeld(site), before, 'a heartbeat keeps the slot, and a borrow its date');
      const answer = async (user: string) => (await site.post('register', { product: 'cad', user })).body;
      assert.deepEqual((await answer('zoe')).code, 'blacklisted');
      assert.deepEqual((await answer('mallory')).code, 'blacklisted');
      assert.deepEqual((await answer('new-2')).code, 'floating_not_available');
      assert.equal((await site.post('unregister', { product: 'cad', user: 'ada' })).status, 200);
      assert.equal((await site.post('register', { product: 'cad', user: 'new-2' })).status, 200);
    });

    test('goes on counting', async (t) => {
      const site = release.unpackSite(t, 'stopped');
      await site.start();
      const total = await readTotal(site);
      const { status, body } = await site.post('add_consumption', { product: 'meter', consumptions: 5 });
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(await readTotal(site), total + 5);
    });

    test('knows whom it knew', async (t) => {
      const site = release.unpackSite(t, 'stopped');
      await site.start();
      const signIn = (name: string, code?: string) => {
        const login = Buffer.from(`${name}:${known.password}`).toString('base64');
        const headers = {
          authorization: `Basic ${login}`,
          ...(code === undefined ? {} : { 'x-berth-code': code }),
        };
        return site.ask('GET /auth', { headers });
      };
      for (const name of ['admin', 'vic', 'olga', 'app'])
        assert.equal((await signIn(name)).status, 200, name);
      assert.equal((await signIn('ann')).body.code, 'second_factor_required');
      assert.equal((await signIn('ann', await readCode(site, known.secondFactor))).status, 200);
      assert.equal((await signIn('ann', known.recoveryCode)).status, 200);
      assert.equal((await signIn('ann', known.recoveryCode)).status, 401);
      const may = async (token: string) => {
        const headers = { authorization: `Bearer ${token}` };
        return (await site.ask('GET /api/admin/session', { headers })).body;
      };
      assert.equal((await may(known.tokens.ci)).role, 'admin');
      assert.deepEqual((await may(known.tokens.ops)).products, ['meter']);
      assert.equal((await may(known.tokens.cad)).role, 'user');
    });

    test('has rules that still answer as they expect', async (t) => {
      const site = release.unpackSite(t, 'stopped');
      await site.start();
      const { text } = await site.get('/api/admin/rules');
      const { errors, expectations } = await site.demand('POST /api/admin/rules/check', { body: { text } });
      assert.deepEqual(errors, []);
      const answers = (expectations as readonly { ok: boolean }[]).map(({ ok }) => ok);
      assert.deepEqual(answers, Array(7).fill(true));
    });

    test('has a webhook that is told, with the signature that its receiver knows', { skip }, async (t) => {
      const site = release.unpackSite(t, 'stopped');
      const { deliveries, open } = makeReceiver(t, RECEIVERS.stopped);
      await open();
      await site.start();
      await site.post('register', { product: 'cad', user: 'mallory' });
      const told = await pollUntil('the refusal is told', () => {
        return deliveries.find(({ body }) => body.includes('"mallory"'));
      });
      const [, seconds, signature] = /^t=(\d+),v1=(\w+)$/.exec(told.signature) ?? [];
      const expected = createHmac('sha256', known.webhookSecret).update(`${seconds}.${told.body}`);
      assert.equal(signature, expected.digest('hex'));
    });

    test('remembers what was counted with a key', async (t) => {
      const clock = await makeFakedClock(t);
      if (clock === null) return t.skip('optional: needs libfaketime');
      // Keys are remembered for a day, so it is the day of the release.
      clock.set(Date.parse(answers.stopped.asked.until) + 60_000 - Date.now());
      const site = release.unpackSite(t, 'stopped');
      site.env = clock.env;
      await site.start();
      const total = await readTotal(site);
      const { user, consumptions, key } = LAST_COUNT;
      const body = { product: 'meter', user, consumptions };
      assert.equal((await site.post('add_consumption', body, { 'idempotency-key': key })).status, 200);
      assert.equal(await readTotal(site), total);
      const other = await site.post(
        'add_consumption',
        { ...body, consumptions: 1 },
        { 'idempotency-key': key },
      );
      assert.equal(other.body.code, 'idempotency_key_reused');
    });
  });
}

/** What a heartbeat leaves alone. */
async function listHeld(site: Site) {
  return (await listSlots(site)).map(({ license_id, user, registered_at, borrowed_until, features }) => {
    return { license_id, user, registered_at, borrowed_until, features };
  });
}

async function readTotal(site: Site): Promise<number> {
  return (await site.get('/api/v4/license?product=meter')).total_consumptions as number;
}

/** A receiver at the address that the data names. Another run of the tests may have it for a while. */
function makeReceiver(t: TestContext, address: string) {
  const deliveries: { readonly signature: string; readonly body: string }[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat(await Array.fromAsync(incoming)).toString('utf8');
    deliveries.push({ signature: String(incoming.headers['berth-signature']), body });
    outgoing.end();
  });
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { hostname, port } = new URL(address);
  const open = () =>
    pollUntil('the address is free', async () => {
      server.listen(Number(port), hostname);
      return once(server, 'listening').then(
        () => true,
        () => undefined,
      );
    });
  return { deliveries, open };
}
