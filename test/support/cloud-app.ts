import { readFileSync } from 'node:fs';
import { readPublicKey } from '@berth/protocol/vendor-signature';
import { createHttpCloud } from '../../packages/server/src/cloud/http-cloud.ts';
import { type ChaosProxy, openChaosProxy } from './chaos-proxy.ts';
import { type CloudProcess, startCloudProcess } from './cloud-process.ts';
import { openTestApp, openTestLink } from './test-app.ts';

interface TestContext {
  after(work: () => unknown): void;
}

export interface CloudAppOptions {
  /** A cloud that is there already, for several servers on one. */
  readonly vendor?: CloudProcess;
  /** Something between the proxy and the cloud. */
  readonly target?: string;
  readonly hardwareId?: string;
  readonly timeoutMs?: number;
  readonly settleMs?: number;
}

/** Nothing on one machine takes this long. */
const TIMEOUT_MS = 10_000;

/** The server's HTTP side with a real cloud behind a proxy that can break everything in between. */
export async function openCloudApp(t: TestContext, options: CloudAppOptions = {}) {
  const vendor = options.vendor ?? (await startCloudProcess(t));
  const proxy = await openChaosProxy({ target: options.target ?? vendor.url });
  t.after(() => proxy.close());
  const cutOff = new AbortController();
  const cloud = createHttpCloud({
    url: proxy.url,
    publicKey: readPublicKey(readFileSync(vendor.publicKeyFile, 'utf8')),
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    signal: cutOff.signal,
    // The cloud has the machine's clock; the store of a test has its own.
    readWall: () => Date.now(),
  });
  const { hardwareId = 'test-machine', settleMs = 0 } = options;
  const app = await openTestApp(t, { licenses: [], cloud, hardwareId, settleMs });
  await app.credentials.setKeys(vendor.keys, 'test');
  return {
    ...app,
    context: t,
    vendor,
    /** The link as the same data would have it on another machine. */
    asMachine: (id: string) => openTestLink(app.store, app.clock, { cloud, hardwareId: id }).cloudLink,
    proxy: proxy as ChaosProxy,
    /** Adds a license by its key; throws when that is refused. */
    async add(product: string, licenseKey: string) {
      const answer = await app.post('/api/v4/addProduct', { product, licenseKey });
      if (answer.status !== 200) throw new Error(answer.text);
      return answer.body;
    },
    sync: async () => (await app.post('/api/admin/licenses/sync', {})).body as unknown as SyncAnswer,
    status: async () =>
      (await app.get('/api/admin/status')).body as unknown as { readonly cloud: CloudFacts },
  };
}

export interface SyncAnswer {
  readonly licenses: readonly {
    readonly license_id: number;
    readonly error: { readonly code: string; readonly reason: string | null } | null;
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
