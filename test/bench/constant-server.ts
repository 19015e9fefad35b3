import { readFileSync } from 'node:fs';
import { listen } from '@berth/web/listen';
import { jsonText } from '@berth/web/reply';
import { createApp } from '../../packages/server/src/http/app.ts';
import type { Route } from '../../packages/server/src/http/route.ts';
import { lendingRoutes } from '../../packages/server/src/http/routes/v4/lending.ts';
import { createAccounts } from '../../packages/server/src/services/access/accounts.ts';
import { createLending } from '../../packages/server/src/services/lending/lending.ts';
import { systemClock } from '../../packages/server/src/store/clock.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { StoreTally } from '../../packages/server/src/store/store-tally.ts';
import { TurnSignal } from '../../packages/server/src/store/turn-signal.ts';
import { createQuietLog } from '../../packages/server/src/telemetry/log.ts';
import { RequestCounts } from '../../packages/server/src/telemetry/metrics/request-counts.ts';

function refuse(): never {
  throw new Error('The constant server stores nothing.');
}

const NO_STORE: Store = {
  execute: refuse,
  read: refuse,
  keepClock: refuse,
  isHealthy: () => true,
  isLeader: () => true,
  tally: new StoreTally(),
  listWaiting: refuse,
  turns: new TurnSignal(),
  listPools: () => [],
  close: async () => {},
};

/**
 * The measure of everything: the HTTP side of the server, except that a register request is read and checked
 * and then answered with a text that stays the same. It decides nothing and stores nothing.
 */
function constantRoutes(answer: string): readonly Route[] {
  const services = { lending: createLending(NO_STORE), grants: { sign: refuse }, replyDenial: refuse };
  return lendingRoutes(services).map((route) =>
    route.name === 'register' ? { ...route, handle: () => jsonText(answer) } : route,
  );
}

const app = createApp({
  listRoutesFor: () => new Map(),
  routes: constantRoutes(readFileSync(process.argv[2] as string, 'utf8')),
  accounts: createAccounts(NO_STORE, systemClock),
  auth: {
    localAdmin: 'never',
    isLoopbackOnly: true,
    clients: 'open',
    requireTls: false,
    secondFactor: 'optional',
    localAccounts: 'everywhere',
    metrics: 'token',
  },
  pages: { allowedOrigins: [], ownNames: { isOwn: async () => false } },
  log: createQuietLog(),
  requests: new RequestCounts(),
  logRequests: false,
  slowRequestMs: 60_000,
  settings: { current: { http: { clientRequestsPerMinute: 0 } } },
  readMonotonicMs: systemClock.readMonotonicMs,
});
const { url, stop } = await listen(app, {
  host: '127.0.0.1',
  port: 0,
  maxConnections: 10_000,
  maxConnectionsPerAddress: 10_000,
  trustedProxies: [],
  certificates: null,
  clock: systemClock,
});
process.once('disconnect', async () => {
  await stop();
  process.exit();
});
process.send?.(url);
