import assert from 'node:assert/strict';
import { sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { NONCE_HEADER } from '@berth/protocol/cloud/cloud-binding';
import { DAY_MS } from '../../../packages/server/src/core/nouns/instant.ts';
import {
  ACTIVATE,
  type AttackedCloud,
  CHECK,
  count,
  DEACTIVATE,
  findError,
  openAttackedCloud,
  play,
  REPORT,
  type Recorded,
  register,
  show,
} from '../../support/cloud/attacked-link.ts';
import { type CloudApp, openCloudApp } from '../../support/cloud/cloud-app.ts';
import { type RunningCloud, startCloudHere } from '../../support/cloud/cloud-process.ts';
import { startBefore } from '../../support/start-before.ts';
import { readEvents } from '../../support/test-app.ts';

/**
 * Attacks by somebody between a server and its vendor's cloud: they can read and record everything, answer in
 * place of the cloud and change requests, but have no key of the vendor. `bound` is a cloud that repeats
 * nonces; `older` is one that does not know them.
 */
let link: AttackedCloud;
startBefore(async (life) => {
  link = await openAttackedCloud(life);
});

describe('a replayed check', () => {
  test('does not reset 100 counted to 0', async (t) => {
    const { app, who } = await link.openServer(t, 'bound');
    const old = await link.record(CHECK, who, 'a'.repeat(32));
    await count(app, 100);
    assert.equal(await findError(app), null);
    play(app, CHECK, old);
    assert.equal((await findError(app))?.reason, 'not_bound');
    assert.equal((await show(app)).total_consumptions, 100);
  });

  test('does not reset it without nonces either, until an administrator accepts it', async (t) => {
    const { app, who } = await link.openServer(t, 'older');
    const old = await link.record(CHECK, who);
    await count(app, 100);
    assert.equal(await findError(app), null);
    play(app, CHECK, old);
    assert.equal(await findError(app), null);
    const { total_consumptions, cloud_answers_bound, lower_total_kept_out } = await show(app);
    assert.deepEqual([total_consumptions, cloud_answers_bound, lower_total_kept_out], [100, false, true]);
    await app.sync({ accept_older: true });
    assert.equal((await show(app)).total_consumptions, 0);
    const corrected = (await readEvents(app.store)).findLast(({ kind }) => kind === 'total_corrected');
    assert.equal((corrected as { by?: string } | undefined)?.by, 'local', 'it is audited who did that');
  });

  for (const [title, change, code] of [
    ['disabled', 'license disable KEY', 'license_not_enabled'],
    ['reduced', 'license change KEY --slots 1', 200],
  ] as const) {
    test(`does not hide that a license was ${title}`, async (t) => {
      const { app, key, who } = await link.openServer(t, 'bound');
      const old = await link.record(CHECK, who, 'b'.repeat(32));
      await link.runVendor(change.replace('KEY', key));
      await findError(app);
      const before = await show(app);
      play(app, CHECK, old);
      assert.equal((await findError(app))?.reason, 'not_bound');
      assert.deepEqual(await show(app), before);
      assert.equal(await register(app), code);
    });
  }
});

describe('a refusal for another license', () => {
  const unknown = (who: object) => ({ ...who, license_key: 'NO-SUCH-KEY' });

  test('signed, does not stop this one', async (t) => {
    const { app, who } = await link.openServer(t, 'bound');
    play(app, CHECK, await link.record(CHECK, unknown(who)));
    assert.equal((await findError(app))?.reason, 'not_bound');
    assert.equal(await register(app), 200);
  });

  test('made by changing the key in the request does not stop this one', async (t) => {
    const { app, who } = await link.openServer(t, 'bound');
    // Somebody on the way forwards another question with the nonce of this one.
    const nonces: string[] = [];
    app.way.url = await openMiddle(t, async ({ headers }) => {
      nonces.push(String(headers[NONCE_HEADER.toLowerCase()]));
      return link.record(CHECK, unknown(who), nonces.at(-1));
    });
    assert.equal((await findError(app))?.reason, 'not_bound');
    assert.match(nonces.join(), /^[0-9a-f]{32}$/);
    assert.equal(await register(app), 200);
  });

  test('or the answer for another license, does not end new slots, however often it comes', async (t) => {
    const { app, who } = await link.openServer(t, 'bound');
    const otherKey = await link.grant();
    await link.record(ACTIVATE, { ...who, license_key: otherKey });
    // It repeats the nonce and names the other license: only the digest shows that the request was changed.
    const other = { ...who, license_key: otherKey };
    app.way.url = await openMiddle(t, async ({ headers }) =>
      link.record(CHECK, other, String(headers[NONCE_HEADER.toLowerCase()])),
    );
    for (let day = 0; day < 4; day++) {
      assert.equal((await findError(app))?.reason, 'not_bound');
      assert.equal((await show(app)).answered_license_id, null);
      app.clock.advance(DAY_MS);
    }
    assert.equal(await register(app), 200);
  });

  test('does not stop this one at once if the cloud does not support nonces', async (t) => {
    const { app, who } = await link.openServer(t, 'older');
    play(app, CHECK, await link.record(CHECK, unknown(who)));
    const error = await findError(app);
    assert.equal(error?.code, 'license_not_found');
    assert.match(error?.message ?? '', /\(takes effect only if the next check confirms it\)$/);
    assert.equal(await register(app), 200);
    assert.equal((await show(app)).unconfirmed_verdict, 'license_not_found');
    app.proxy.setPlan({ kind: 'pass' });
    assert.equal(await findError(app), null);
    assert.equal((await show(app)).unconfirmed_verdict, null);
  });
});

describe('a server whose key of the vendor is outdated', () => {
  /** A vendor who has changed its key without this server: it was bound to nonces before. */
  async function openOutdated(t: TestContext) {
    const vendor = await startCloudHere(t);
    const key = await vendor.grant('cad', '--slots', '5');
    const app = await openCloudApp(t, { vendor });
    await app.add('cad', key);
    const remove = () => app.post('/api/v4/removeProduct', { product: 'cad', license_id: null });
    return { app, vendor, key, remove, changeKey: () => changeKey(vendor) };
  }

  async function changeKey(vendor: RunningCloud) {
    await vendor.run('signing-key', 'add');
    await vendor.run('signing-key', 'switch');
  }

  /** Everything that the server says about its link. */
  async function listSaid({ app }: Awaited<ReturnType<typeof openOutdated>>) {
    const { findings } = (await app.get('/api/admin/doctor')).body as unknown as {
      readonly findings: readonly { readonly text: string; readonly advice: string | null }[];
    };
    const { cloud } = await app.status();
    const synced = (await app.sync()).licenses?.[0]?.error?.message ?? null;
    return {
      said: [cloud.error?.message, synced].join('\n'),
      all: JSON.stringify([findings, cloud, synced]),
    };
  }

  for (const [title, prepare] of [
    ['with a license', async () => {}],
    [
      'whose license is disabled',
      async ({ vendor, key }) => void (await vendor.run('license', 'disable', key)),
    ],
    ['without a license', async ({ remove }) => void (await remove())],
  ] as const satisfies readonly (readonly [
    string,
    (site: Awaited<ReturnType<typeof openOutdated>>) => Promise<void>,
  ])[]) {
    test(`is told about the signature, and never to accept unbound answers: ${title}`, async (t) => {
      const site = await openOutdated(t);
      await prepare(site);
      await site.changeKey();
      const { said, all } = await listSaid(site);
      assert.match(said, /no valid signature.*cloud\.publicKey/);
      assert.doesNotMatch(all, /accept-unbound|nonce/);
    });
  }
});

/** Somebody between the two, who answers as they like. */
async function openMiddle(
  t: TestContext,
  answer: (request: IncomingMessage, body: Buffer) => Promise<Recorded>,
): Promise<string> {
  const server = createServer(async (request, response) => {
    const { code, body, headers } = await answer(request, Buffer.concat(await request.toArray()));
    response.writeHead(code, headers).end(body);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a forged confirmation of a deactivation', () => {
  const remove = (app: CloudApp) => app.post('/api/v4/removeProduct', { product: 'cad' });

  for (const cloud of ['bound', 'older'] as const) {
    for (const [title, forged] of [
      ['license_deactivated', { code: 200, body: 'license_deactivated' }],
      ['device_not_found', { code: 400, body: '{"status":400,"code":"device_not_found","message":"No."}' }],
    ] as const) {
      test(`unsigned, "${title}", is rejected (${cloud})`, async (t) => {
        const { app, key } = await link.openServer(t, cloud);
        play(app, DEACTIVATE, { kind: 'status', ...forged });
        assert.notEqual((await remove(app)).status, 200);
        assert.equal((await app.catalogue.list(null)).length, 1);
        app.proxy.setPlan({ kind: 'pass' });
        assert.equal((await remove(app)).status, 200);
        assert.equal((await link.showAtVendor(key)).activations, 0);
      });
    }
  }

  test('signed and recorded is rejected by a server that has seen nonces', async (t) => {
    const { app, who } = await link.openServer(t, 'bound', '--activations', '2');
    const other = { ...who, hardware_id: 'another' };
    await link.record(ACTIVATE, other);
    const recorded = await link.record(DEACTIVATE, other);
    assert.equal(recorded.body, 'license_deactivated');
    play(app, DEACTIVATE, recorded);
    assert.equal((await remove(app)).body.code, 'cloud_unavailable');
    assert.equal((await app.catalogue.list(null)).length, 1);
  });
});

describe('a refusal that repeats the nonce of another request', () => {
  // Without the digest, as a cloud may answer; the machine is the right one, the license is not named.
  const refuse = (code: string, headers: IncomingMessage['headers'], who: { hardware_id: string }) => {
    const nonce = headers[NONCE_HEADER.toLowerCase()];
    const named = { nonce, license_id: null, hardware_id: who.hardware_id };
    const body = JSON.stringify({ status: 400, code, message: 'No.', ...named });
    const LicenseSignature = sign('sha256', Buffer.from(body), link.signingKey).toString('base64');
    return { code: 400, body, headers: { LicenseSignature } };
  };

  test('does not end the removal of a license', async (t) => {
    const { app, who } = await link.openServer(t, 'bound');
    app.way.url = await openMiddle(t, async ({ headers }) => refuse('license_not_found', headers, who));
    assert.notEqual((await app.post('/api/v4/removeProduct', { product: 'cad' })).status, 200);
    assert.equal((await app.catalogue.list(null)).length, 1);
  });

  test('does not make a report pending again', async (t) => {
    const { app, who } = await link.openServer(t, 'bound');
    await count(app, 5);
    app.way.url = await openMiddle(t, async ({ headers }) => refuse('license_not_found', headers, who));
    await app.sync();
    const { pending, reports_under_way } = (await app.status()).cloud;
    assert.deepEqual([pending, reports_under_way], [0, 1]);
  });
});

describe('the answer to an old report', () => {
  for (const cloud of ['bound', 'older'] as const) {
    test(`does not settle a new one (${cloud})`, async (t) => {
      const { app, key, who } = await link.openServer(t, cloud);
      await count(app, 5);
      assert.equal(await findError(app), null);
      // Without an id, as clouds answer that know none.
      const old = await link.record(REPORT, { ...who, consumptions: 0 });
      await count(app, 7);
      play(app, REPORT, old);
      await app.sync();
      const { pending, reports_under_way } = (await app.status()).cloud;
      assert.deepEqual([pending, reports_under_way], [0, 1]);
      app.proxy.setPlan({ kind: 'pass' });
      assert.equal(await findError(app), null);
      assert.equal((await link.showAtVendor(key)).total_consumptions, 12);
      assert.equal((await show(app)).total_consumptions, 12);
    });
  }

  test('with its status turned into a refusal does not make a report count twice', async (t) => {
    const { app, key } = await link.openServer(t, 'bound', '--feature', 'export,consumptions=unlimited');
    const count = { product: 'cad', feature: 'export', consumptions: 3 };
    assert.equal((await app.post('/api/v4/add_feature_consumption', count)).status, 200);
    app.way.url = await openMiddle(t, async ({ method = '', url = '', headers }, body) => {
      const { host: _, connection: __, ...rest } = headers as Record<string, string>;
      const sent = method === 'GET' ? {} : { body };
      const answer = await fetch(`${link.vendor.url}${url}`, { method, headers: rest, ...sent });
      const LicenseSignature = answer.headers.get('LicenseSignature') ?? '';
      const code = url.includes('consumption') ? 400 : answer.status;
      return { code, body: await answer.text(), headers: { LicenseSignature } };
    });
    await app.sync();
    app.way.url = app.proxy.url;
    for (let round = 0; round < 3; round++) await app.sync();
    assert.equal((await link.showAtVendor(key)).features[0]?.total_consumptions, 3);
    assert.deepEqual((await app.status()).cloud.reports_uncertain, 0);
  });
});

describe('a report whose amount is changed on the way', () => {
  for (const cloud of ['bound', 'older'] as const) {
    for (const amount of [0, 1]) {
      test(`to ${amount} is not settled (${cloud})`, async (t) => {
        const { app, who, key } = await link.openServer(t, cloud);
        await count(app, 5);
        assert.equal(await findError(app), null);
        await count(app, 100);
        app.way.url = await openMiddle(t, async ({ url = '', headers }, body) => {
          const nonce = cloud === 'bound' ? String(headers[NONCE_HEADER.toLowerCase()]) : null;
          if (!url.startsWith(REPORT)) return link.record(CHECK, who, nonce);
          const sent = JSON.parse(body.toString('utf8')) as { consumptions: number };
          return link.record(REPORT, { ...sent, consumptions: Math.min(sent.consumptions, amount) }, nonce);
        });
        await app.sync();
        app.way.url = app.proxy.url;
        for (let round = 0; round < 2; round++) await app.sync();
        const { reports_under_way, reports_uncertain } = (await app.status()).cloud;
        assert.deepEqual([reports_under_way, reports_uncertain], [0, 1]);
        await count(app, 7);
        await app.sync();
        assert.equal((await link.showAtVendor(key)).total_consumptions, 12 + amount, 'counting goes on');
      });
    }
  }
});

describe('the answer to another server', () => {
  for (const cloud of ['bound', 'older'] as const) {
    test(`is rejected by this one (${cloud})`, async (t) => {
      const { app, who } = await link.openServer(t, cloud, '--unlimited-activations');
      const others = { ...who, hardware_id: 'another-server' };
      await link.record(ACTIVATE, others);
      for (const nonce of [null, 'c'.repeat(32)]) {
        play(app, CHECK, await link.record(CHECK, others, nonce));
        assert.match(String((await findError(app))?.reason), /^not_(bound|understood)$/);
      }
      const fresh = await openCloudApp(t, { vendor: link.vendor, hardwareId: 'fresh' });
      play(fresh, ACTIVATE, await link.record(ACTIVATE, others));
      const { license_key: licenseKey } = who;
      const added = await fresh.post('/api/v4/addProduct', { product: 'cad', licenseKey });
      assert.equal(added.body.code, 'cloud_unavailable');
    });
  }
});

describe('removing the nonce from requests', () => {
  test('makes the server reject a cloud that has used nonces, and lending continues', async (t) => {
    const { app, key, who } = await link.openServer(t, 'bound');
    assert.equal((await show(app)).cloud_answers_bound, true);
    const old = await link.record(CHECK, who);
    await link.runVendor(`license disable ${key}`);
    app.proxy.hideHeaders(NONCE_HEADER);
    for (const answer of [null, old]) {
      if (answer !== null) play(app, CHECK, answer);
      assert.equal((await findError(app))?.reason, 'not_bound');
      assert.match((await app.status()).cloud.error?.message ?? '', /--accept-unbound/);
      assert.equal(await register(app), 200);
    }
    const held = (await readEvents(app.store)).filter(({ kind }) => kind === 'cloud_held_to_nonces');
    assert.equal(held.length, 1);
  });

  test('is not suspected if the cloud only has an error', async (t) => {
    const { app } = await link.openServer(t, 'bound');
    const body = '{"status":400,"code":"bad_request","message":"No."}';
    play(app, CHECK, { kind: 'status', code: 400, body });
    const error = await findError(app);
    assert.equal(error?.reason, 'not_signed');
    assert.match(error?.message ?? '', /\(error bad_request\) has no valid signature/);
  });

  test('is accepted when an administrator says so, and the weaker guarantee is shown', async (t) => {
    const { app } = await link.openServer(t, 'bound');
    app.proxy.hideHeaders(NONCE_HEADER);
    assert.equal((await app.sync({ accept_unbound: true })).licenses[0]?.error, null);
    assert.equal(await findError(app), null);
    assert.equal((await show(app)).cloud_answers_bound, false);
    const released = (await readEvents(app.store)).filter(
      ({ kind }) => kind === 'cloud_released_from_nonces',
    );
    assert.equal(released.length, 1);
    app.proxy.hideHeaders();
    assert.equal(await findError(app), null);
    assert.equal((await show(app)).cloud_answers_bound, true, 'the next nonce holds it again');
  });
});
