import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { NONCE_HEADER } from '@berth/protocol/cloud/cloud-binding';
import { readPublicKey } from '@berth/protocol/cloud/vendor-signature';
import type { Cloud } from '../../../packages/server/src/cloud/cloud.ts';
import { createHttpCloud } from '../../../packages/server/src/cloud/http-cloud.ts';
import { type ChaosProxy, type ChaosProxyOptions, openChaosProxy } from '../chaos/chaos-proxy.ts';
import { openTestApp, openTestLink } from '../test-app.ts';
import { type RunningCloud, startCloudHere } from './cloud-process.ts';

interface TestContext {
  after(work: () => unknown): void;
}

export interface CloudAppOptions {
  /** An existing cloud, shared by several servers. */
  readonly vendor?: RunningCloud;
  /** A server between the proxy and the cloud. */
  readonly target?: string;
  readonly hardwareId?: string;
  /** Hides nonces from the cloud, which then behaves like an older one. */
  readonly hidesNonces?: boolean;
  readonly timeoutMs?: number;
  readonly settleMs?: number;
  /** Makes the proxy use TLS with the server. */
  readonly tls?: ChaosProxyOptions['tls'];
}

/** How the server reaches its cloud. A test may change it while the server runs. */
interface CloudWay {
  url: string;
  timeoutMs: number;
  /** How far the server's wall clock is ahead of the cloud's. */
  shiftMs: number;
}

/** Nothing takes this long on one machine. */
const TIMEOUT_MS = 10_000;

/** The server's HTTP API with a real cloud behind a chaos proxy. */
export async function openCloudApp(t: TestContext, options: CloudAppOptions = {}) {
  const vendor = options.vendor ?? (await startCloudHere(t));
  const { target = vendor.url, tls } = options;
  const proxy = await openChaosProxy({ target, ...(tls && { tls }) });
  t.after(() => proxy.close());
  if (options.hidesNonces === true) proxy.hideHeaders(NONCE_HEADER);
  const way: CloudWay = { url: proxy.url, timeoutMs: options.timeoutMs ?? TIMEOUT_MS, shiftMs: 0 };
  const vendorKey = readPublicKey(readFileSync(vendor.publicKeyFile, 'utf8'));
  const cloud = openCloud(vendorKey, way);
  const { hardwareId = 'test-machine', settleMs = 0 } = options;
  const app = await openTestApp(t, { licenses: [], cloud, vendorKey, hardwareId, settleMs });
  await app.credentials.setKeys(vendor.keys, 'test');
  return {
    ...app,
    context: t,
    vendor,
    vendorKey,
    /** The cloud link of another machine with the same data. */
    asMachine: (id: string) =>
      openTestLink(app.store, app.clock, { cloud, vendorKey, hardwareId: id }).cloudLink,
    proxy: proxy as ChaosProxy,
    way,
    /** Adds a license by its key; throws if it is refused. */
    async add(product: string, licenseKey: string) {
      const answer = await app.post('/api/v4/addProduct', { product, licenseKey });
      if (answer.status !== 200) throw new Error(answer.text);
      return answer.body;
    },
    sync: async (wish: object = {}) =>
      (await app.post('/api/admin/licenses/sync', wish)).body as unknown as SyncAnswer,
    status: async () =>
      (await app.get('/api/admin/status')).body as unknown as { readonly cloud: CloudFacts },
  };
}

function openCloud(publicKey: KeyObject, way: CloudWay): Cloud {
  const { signal } = new AbortController();
  // The cloud uses the real clock; the store of a test has a manual one.
  const rest = { publicKeys: [publicKey], signal, readWall: () => Date.now() + way.shiftMs };
  const now = () => createHttpCloud({ url: way.url, timeoutMs: way.timeoutMs, ...rest });
  return {
    activate: (...question) => now().activate(...question),
    check: (...question) => now().check(...question),
    deactivate: (...question) => now().deactivate(...question),
    report: (...question) => now().report(...question),
    probe: (...question) => now().probe(...question),
  };
}

interface SyncAnswer {
  readonly licenses: readonly {
    readonly license_id: number;
    readonly error: {
      readonly code: string;
      readonly reason: string | null;
      readonly message: string;
    } | null;
  }[];
}

export interface CloudFacts {
  readonly state: string;
  readonly error: { readonly code: string; readonly reason: string | null; readonly message: string } | null;
  readonly pending: number;
  readonly reports_under_way: number;
  readonly reports_uncertain: number;
}

export type CloudApp = Awaited<ReturnType<typeof openCloudApp>>;
