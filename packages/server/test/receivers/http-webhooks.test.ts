import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { makeCertificate } from '../../../../test/support/certificate.ts';
import { instant } from '../../src/core/nouns/instant.ts';
import { createHttpWebhooks } from '../../src/receivers/http-webhooks.ts';
import { refuseAddresses } from '../../src/receivers/refused-addresses.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** A receiver with an untrusted certificate; counts the requests that reach it. */
async function openStranger(t: TestContext) {
  const [notBefore, notAfter] = [new Date(Date.now() - DAY_MS), new Date(Date.now() + DAY_MS)];
  const server = createServer(makeCertificate({ names: ['127.0.0.1'], notBefore, notAfter }));
  let requests = 0;
  server.on('request', (_, outgoing) => {
    requests += 1;
    outgoing.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `https://127.0.0.1:${port}/`, count: () => requests };
}

test('a receiver without a valid certificate gets nothing', async (t) => {
  const stranger = await openStranger(t);
  const webhooks = createHttpWebhooks({
    url: stranger.url,
    secret: 'x'.repeat(32),
    userAgent: 'Berth',
    refused: refuseAddresses({ privateAddresses: true }),
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    readWall: () => 0,
    present: () => '{}',
  });
  const event = { kind: 'server_started', version: '1' } as const;
  const delivery = await webhooks.send([{ id: '1.0', licenseId: null, at: instant(0), event }]);
  const reason = 'it cannot be reached (DEPTH_ZERO_SELF_SIGNED_CERT)';
  assert.deepEqual(delivery, { kind: 'failed', reason });
  assert.equal(stranger.count(), 0);
});
