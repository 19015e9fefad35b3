import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { registerPlan, withNonce } from '../requests.ts';
import { LoadRun } from './load-run.ts';

test('every request has another valid nonce, and staggered connections do not ask at once', async (t) => {
  const bodies: { readonly user: string; readonly nonce?: string }[] = [];
  const server = createServer(async (request, response) => {
    bodies.push(JSON.parse(Buffer.concat(await request.toArray()).toString()));
    response.end('{}');
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const plain = registerPlan('cad');
  const { errors, answered } = await new LoadRun({
    ...{ servers: [{ host: '127.0.0.1', port }], connections: 4, isStaggered: true, earlierRounds: 0 },
    ...{ requests: [withNonce(plain), plain, plain, plain], warmupSeconds: 0, seconds: 10, rate: null },
    ...{ users: { from: 0, step: 1, count: 4, pick: 'own' }, rounds: 12 },
  }).run();
  assert.deepEqual({ errors, answered }, { errors: 0, answered: bodies.length });
  const first = Map.groupBy(bodies, ({ user }) => user);
  const places = [...first.values()].map((own) => own.findIndex(({ nonce }) => nonce !== undefined));
  assert.deepEqual(places.toSorted(), [0, 1, 2, 3]);
  const nonces = bodies.flatMap(({ nonce }) => nonce ?? []);
  assert.ok(nonces.length >= 8);
  assert.equal(new Set(nonces).size, nonces.length);
  for (const nonce of nonces) assert.match(nonce, /^[A-Za-z0-9_-]{16,128}$/);
});
