import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { startCloud } from '@berth/cloud/cli/serve';
import { systemClock } from '@berth/cloud/clock';
import { LIMITS } from '@berth/cloud/http/limits/limits';
import { openDataFolder } from '@berth/cloud/store/data-folder';
import { loadTotals } from '@berth/cloud/store/execute';
import { createKey } from '@berth/cloud/store/keys/keys';
import { listWaitingKeys } from '@berth/cloud/store/keys/waiting-keys';
import { getLicense, setLicenseEnabled } from '@berth/cloud/store/licenses';
import { okpJwkOf } from '@berth/protocol/grant/jws';
import type { Listening } from '@berth/web/listen';
import { createCarriedServer } from '../../support/cloud/carried-server.ts';
import { createTestTerminal } from '../../support/cloud/cloud-command-line.ts';
import { cloudFolder, type TestCloud } from '../../support/cloud/test-cloud.ts';
import { createTestPortal, given, refused, told } from '../../support/cloud/test-portal.ts';

/** As a browser sends it from the page. */
async function handIn(cloud: TestCloud, file: string, place?: string) {
  const form = new FormData();
  form.set('file', new Blob([file]), 'a.req');
  const { status, text } = await cloud.send('/portal/offline', { method: 'POST', body: form }, place);
  return { status, text };
}

/** A license that is activated over the network on the honest server, whose key nobody has seen yet. */
async function createVictim(t: TestContext) {
  const portal = createTestPortal(t, { slots: 5, consumption: { max: 1000 } });
  const { cloud, key, store, licenseId } = portal;
  const online = { product: 'cad', license_key: key, hardware_id: 'honest' };
  assert.equal((await cloud.post('activate_license', online)).status, 200);
  return {
    ...portal,
    /** Whoever knows the license key, which every client is told, and the hardware id. */
    stranger: createCarriedServer('honest'),
    forged: told(licenseId, key, 900),
    isActivated: async () => (await cloud.get('check_license', online)).status === 200,
    total: () => loadTotals(store, given(getLicense(store, key)), cloud.now).get(''),
  };
}

describe('a certificate for a key of an attacker', () => {
  const ownKey = () => okpJwkOf(generateKeyPairSync('ed25519').publicKey).x;

  test('is not to be had with a license key alone, nor after giving the activation back', async (t) => {
    const { cloud, key, readFile } = createTestPortal(t, { slots: 5, maxActivations: 1 });
    const fake = createCarriedServer('invented');
    const grantKey = ownKey();
    const answer = await handIn(cloud, fake.request({ licenseKey: key, grantKey }));
    assert.equal(answer.status, 200, 'the license itself is free');
    assert.equal(readFile(answer.text).fields.server_certificates, undefined);
    const back = await handIn(cloud, fake.request({ request: 'deactivation', licenseKey: key }));
    assert.equal(back.status, 200);
    const again = await handIn(cloud, fake.request({ licenseKey: key, grantKey }));
    assert.equal(readFile(again.text).fields.server_certificates, undefined);
  });

  test('is not to be had for the license of another customer, however the machine was proven', async (t) => {
    const { cloud, store, readFile } = createTestPortal(t);
    const pair = given(createKey(store, 'rival', cloud.now, 'rival'));
    const theirs = cloud.grant({ slots: 5 }, { customer: 'acme' });
    const own = cloud.grant({ slots: 1 }, { customer: 'rival' });
    const server = createCarriedServer('rival');
    const grantKey = ownKey();
    const first = await handIn(cloud, server.request({ licenseKey: own, grantKey }, pair));
    assert.equal((readFile(first.text).fields.server_certificates as string[]).length, 1);
    assert.equal((await handIn(cloud, server.request({ licenseKey: theirs, grantKey }, pair))).status, 400);
    const plain = await handIn(cloud, server.request({ licenseKey: theirs, grantKey }));
    assert.equal(plain.status === 200 && 'server_certificates' in readFile(plain.text).fields, false);
  });
});

describe('taking over a license through the portal', () => {
  test('a forged deactivation returns nothing and counts nothing', async (t) => {
    const victim = await createVictim(t);
    const { stranger, cloud, key } = victim;
    const usage = stranger.usageContent(victim.forged);
    const answer = await handIn(cloud, stranger.request({ request: 'deactivation', licenseKey: key, usage }));
    assert.equal(answer.status, 400);
    assert.match(answer.text, /cloud device approve/);
    assert.ok(await victim.isActivated());
    assert.equal(victim.total(), 0);
    const next = createCarriedServer('elsewhere').request({ licenseKey: key });
    assert.equal((await handIn(cloud, next)).status, 400, 'no activation has become free');
  });

  test('forged usage adds no counts', async (t) => {
    const victim = await createVictim(t);
    const answer = await handIn(victim.cloud, victim.stranger.usage(victim.forged));
    assert.equal(answer.status, 400);
    assert.equal(victim.total(), 0);
  });

  test('a forged activation for an activated machine yields no signed file', async (t) => {
    const { cloud, stranger, key, isActivated } = await createVictim(t);
    const answer = await handIn(cloud, stranger.request({ licenseKey: key }));
    assert.equal(answer.status, 400);
    const other = cloud.grant({ slots: 5 });
    const free = await handIn(cloud, stranger.request({ licenseKey: other }));
    assert.equal(free.status, 400, 'nor with the key of another license, which has a free activation');
    assert.ok(await isActivated());
  });

  test('claiming a hardware id before its server comes gives no access to that server', async (t) => {
    const portal = createTestPortal(t);
    const { cloud, key, store, licenseId } = portal;
    const stranger = createCarriedServer('honest');
    const own = cloud.grant({ slots: 1 });
    assert.equal((await handIn(cloud, stranger.request({ licenseKey: own }))).status, 200);
    const code = createCarriedServer('honest').activationCode(key, portal.start());
    given(portal.confirm({ hardwareId: 'honest', activationCode: code }));
    const usage = stranger.usageContent(told(licenseId, key, 900));
    for (const file of [
      stranger.request({ request: 'deactivation', licenseKey: key, usage }),
      stranger.usage(told(licenseId, key, 900)),
      stranger.request({ licenseKey: key }),
    ]) {
      assert.equal((await handIn(cloud, file)).status, 400);
    }
    assert.equal(loadTotals(store, given(getLicense(store, key)), cloud.now).get(''), 0);
  });

  test('a returned machine id cannot be claimed by another key', async (t) => {
    const portal = createTestPortal(t);
    const { cloud, key } = portal;
    const honest = createCarriedServer('honest');
    for (const request of ['activation', 'deactivation'] as const) {
      assert.equal((await handIn(cloud, honest.request({ request, licenseKey: key }))).status, 200);
    }
    assert.equal(
      (await handIn(cloud, createCarriedServer('honest').request({ licenseKey: key }))).status,
      400,
    );
    assert.equal((await handIn(cloud, honest.request({ licenseKey: key }))).status, 200);
  });

  test('a waiting key is not approved together with another', async (t) => {
    const victim = await createVictim(t);
    const { cloud, stranger, key, store, approve } = victim;
    const honest = createCarriedServer('honest');
    const file = honest.usage(told(victim.licenseId, key, 3));
    await handIn(cloud, file);
    for (const forger of [stranger, createCarriedServer('honest')]) {
      await handIn(cloud, forger.usage(victim.forged));
    }
    given(approve(honest));
    assert.deepEqual(listWaitingKeys(store, null), []);
    assert.equal((await handIn(cloud, stranger.usage(victim.forged))).status, 400);
    assert.equal(refused(approve(stranger)), 'device_not_found');
    assert.equal((await handIn(cloud, file)).status, 200);
    assert.equal(victim.total(), 3);
  });
});

describe('discovering license keys', () => {
  const CODES = { hardware_id: 'vault', activation_code: 'AAAA' };

  function sendCodes(cloud: TestCloud, license_key: string, place: string) {
    const body = new URLSearchParams({ ...CODES, license_key });
    return cloud.send('/portal/airgap', { method: 'POST', body }, place);
  }

  test('probing keys and codes is slowed, while another address is served', async (t) => {
    const portal = createTestPortal(t);
    const { cloud, key } = portal;
    const probe = (index: number) => createCarriedServer('probe').request({ licenseKey: `K-${index}` });
    const guess = (index: number) =>
      index % 2 === 0
        ? handIn(cloud, probe(index), '192.0.2.66')
        : sendCodes(cloud, `K-${index}`, '192.0.2.66');
    const statuses: number[] = [];
    // As many at once as forms are taken from one address.
    for (let index = 0; index < 2 * LIMITS.guesses; index += LIMITS.formsPerAddress) {
      const burst = Array.from({ length: LIMITS.formsPerAddress }, (_, more) => guess(index + more));
      statuses.push(...(await Promise.all(burst)).map(({ status }) => status));
    }
    assert.deepEqual([...new Set(statuses)], [400, 429]);
    assert.equal(statuses.filter((status) => status === 400).length, LIMITS.guesses);
    const file = createCarriedServer('honest').request({ licenseKey: key });
    assert.equal((await handIn(cloud, file, '192.0.2.66')).status, 429, 'nor is a right one told');
    assert.equal((await handIn(cloud, file, '192.0.2.1')).status, 200);
  });

  test('probing with the cloud keys is slowed as well', async (t) => {
    const { cloud, key } = createTestPortal(t);
    const guesses = Array.from({ length: 200 }, (_, index) =>
      cloud.get('check_license', { product: 'cad', license_key: `K-${index}`, hardware_id: 'probe' }),
    );
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 400).length, LIMITS.guesses);
    assert.equal(statuses.filter((status) => status === 429).length, 200 - LIMITS.guesses);
    assert.equal((await handIn(cloud, createCarriedServer().request({ licenseKey: key }))).status, 200);
  });

  test('a key that does not exist and one that is not yours get the same answer', async (t) => {
    const portal = createTestPortal(t);
    const { cloud, licenseId } = portal;
    const foreign = cloud.grant({ slots: 1 }, { product: 'cam' });
    const ofUser = cloud.grant({}, { product: 'crm', user: { name: 'ann', passwordHash: 'x' } });
    const elsewhere = cloud.grant({ slots: 1 });
    given(portal.activate(createCarriedServer('elsewhere').request({ licenseKey: elsewhere })));
    const own = createCarriedServer('own');
    given(portal.activate(own.request({ licenseKey: portal.key })));
    const used = '00000000-0000-4000-8000-000000000001';
    given(portal.activate(own.request({ licenseKey: portal.key, requestId: used })));
    const ids = new Map(
      [foreign, ofUser, elsewhere].map((key) => [key, given(getLicense(portal.store, key)).id]),
    );
    const ways: Readonly<Record<string, (key: string) => string>> = {
      'an activation': (key) => own.request({ licenseKey: key, product: 'cad' }),
      'a deactivation': (key) => own.request({ request: 'deactivation', licenseKey: key }),
      'a used request id': (key) => own.request({ licenseKey: key, requestId: used }),
      'usage of it alone': (key) => own.usage(told(ids.get(key) ?? 1, key, 1)),
      'usage beside ours': (key) =>
        own.usage([...told(licenseId, portal.key, 0), ...told(ids.get(key) ?? 1, key, 1)]),
    };
    let place = 0;
    for (const [way, make] of Object.entries(ways)) {
      const keys = way === 'an activation' ? [foreign, ofUser] : [foreign, ofUser, elsewhere];
      const unknown = await handIn(cloud, make('K-NONE'), `192.0.2.${++place}`);
      assert.equal(unknown.status, 400, way);
      for (const key of keys)
        assert.deepEqual(await handIn(cloud, make(key), `192.0.2.${place}`), unknown, way);
    }
    const { status, text } = await sendCodes(cloud, 'KEY', '');
    const wrong = await sendCodes(cloud, elsewhere, '');
    assert.deepEqual([wrong.status, wrong.text.replaceAll(elsewhere, 'KEY')], [status, text]);
  });
});

test('a license that is used up, disabled or expired reveals no id, and costs a guess', async (t) => {
  const { cloud, store, activate } = createTestPortal(t);
  const full = cloud.grant({ slots: 1 });
  given(activate(createCarriedServer('owner').request({ licenseKey: full })));
  const over = cloud.grant({ slots: 1, validUntil: cloud.now - 1 });
  const disabled = cloud.grant({ slots: 1 });
  given(setLicenseEnabled(store, disabled, false, cloud.now));
  for (const [index, key] of [full, over, disabled].entries()) {
    const probe = () =>
      handIn(cloud, createCarriedServer('probe').request({ licenseKey: key }), `192.0.2.${index}`);
    const { status, text } = await probe();
    assert.equal(status, 400);
    assert.ok(!text.includes(String(given(getLicense(store, key)).id)), text);
    assert.doesNotMatch(text, /1 of 1|20\d\d-/);
    for (let count = 1; count < LIMITS.guesses; count++) await probe();
    assert.equal((await probe()).status, 429);
  }
});

test('a big request file is refused by its size, before it is read', async (t) => {
  const { cloud, key } = createTestPortal(t);
  const file = createCarriedServer().request({
    licenseKey: key,
    usage: [...'1'.repeat(300_000)].map(Number),
  });
  assert.ok(file.length > 750_000);
  assert.equal((await handIn(cloud, file)).status, 413);
});

describe('exhausting a running cloud', () => {
  /** As `cloud serve` does it, on a free port. */
  async function startHere(t: TestContext): Promise<Listening> {
    const folder = openDataFolder(cloudFolder(t));
    const terminal = createTestTerminal();
    const options = { folder, flags: {}, clock: systemClock, terminal, defaultPort: 0, warnings: [] };
    const cloud = await startCloud(options);
    t.after(async () => {
      await cloud.stop();
      folder.close();
    });
    return cloud;
  }

  /** Opens a connection from an address of the machine itself. */
  async function open(cloud: Listening, localAddress: string): Promise<Socket> {
    const { hostname: host, port } = new URL(cloud.url);
    const socket = connect({ host, port: Number(port), localAddress });
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  }

  /** The status line of the answer to what is sent. */
  async function ask(cloud: Listening, from: string, text: string): Promise<string> {
    const socket = await open(cloud, from);
    socket.write(text);
    const [answer] = await once(socket, 'data');
    socket.destroy();
    return /^HTTP\/1\.1 (\d+)/.exec(String(answer))?.[1] ?? '';
  }

  const FORM =
    'POST /portal/airgap HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n';
  const WHOLE = `${FORM}Content-Length: 2\r\n\r\na=`;
  const SLOW = `${FORM}Content-Length: 9\r\nExpect: 100-continue\r\n\r\n`;
  const PAGE = 'GET /portal HTTP/1.1\r\nHost: a\r\n\r\n';

  test('slow forms from one address leave another address its turn', async (t) => {
    const cloud = await startHere(t);
    const slow = await Promise.all(Array.from({ length: 32 }, () => open(cloud, '127.0.0.2')));
    for (const socket of slow) {
      socket.write(SLOW);
      // The cloud says that it waits for the form, or that it does not.
      await once(socket, 'data');
    }
    assert.equal(await ask(cloud, '127.0.0.2', WHOLE), '429');
    assert.equal(await ask(cloud, '127.0.0.1', WHOLE), '400', 'it is read, and has no codes in it');
    assert.equal(await ask(cloud, '127.0.0.2', PAGE), '200');
    for (const socket of slow) socket.destroy();
  });

  test('idle connections from one address leave others room', async (t) => {
    const cloud = await startHere(t);
    const idle: Socket[] = [];
    const closed = { count: 0 };
    for (let count = 0; count < 2 * LIMITS.connectionsPerAddress; count++) {
      const socket = await open(cloud, '127.0.0.2');
      socket.once('close', () => {
        closed.count += 1;
      });
      idle.push(socket);
    }
    const last = idle.at(-1) as Socket;
    if (!last.closed) await once(last, 'close');
    assert.equal(closed.count, LIMITS.connectionsPerAddress, 'those beyond the bound');
    assert.equal(await ask(cloud, '127.0.0.1', PAGE), '200');
    for (const socket of idle) socket.destroy();
  });
});
