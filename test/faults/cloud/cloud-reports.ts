import assert from 'node:assert/strict';
import { NONCE_HEADER } from '@berth/protocol/cloud/cloud-binding';
import { openChaosProxy } from '../../support/chaos/chaos-proxy.ts';
import { type CloudApp, openCloudApp } from '../../support/cloud/cloud-app.ts';
import type { CloudProcess } from '../../support/cloud/cloud-process.ts';
import { createRandom, pickOne } from '../../support/random.ts';

interface StormContext {
  after(work: () => unknown): void;
}

export interface ReportStorm {
  readonly seed: number;
  readonly reports: number;
  /** Which share of the reports is cut after the cloud has counted them. */
  readonly cutShare: number;
  /** The cloud does not get to see the ids of reports, as one that does not know them. */
  readonly withoutIds: boolean;
  /** Every so many reports somebody else counts on the same license; 0: nobody does. */
  readonly strangerEvery: number;
}

interface StormResult {
  readonly counted: number;
  readonly atCloud: number;
  readonly cuts: number;
  /** Counted here, and in no report yet. */
  readonly untold: number;
  /** In a report that nobody can tell about. */
  readonly held: number;
  readonly underWay: number;
}

/**
 * Counts, reports, and counts on, while a share of the answers is lost after the cloud has counted. At the
 * end everything is healed and synced until nothing moves any more.
 */
export async function runReportStorm(
  t: StormContext,
  vendor: CloudProcess,
  storm: ReportStorm,
): Promise<StormResult> {
  const key = await vendor.grant('cad', '--slots', '5', '--unlimited-consumptions', '--activations', '2');
  const target = storm.withoutIds ? await hideReportIds(t, vendor.url) : vendor.url;
  const app = await openCloudApp(t, { vendor, target });
  const stranger = await openCloudApp(t, { vendor, hardwareId: 'stranger' });
  for (const one of [app, stranger]) await one.add('cad', key);
  const random = createRandom(storm.seed);
  const isCut = () => random() < storm.cutShare;
  app.proxy.setPlan(({ path }) => ({ kind: path === REPORT_PATH && isCut() ? 'cut_after' : 'pass' }));
  let counted = 0;
  for (let n = 1; n <= storm.reports; n++) {
    counted += await count(app, pickOne(random, [1, 2, 3, 5, 8]));
    if (storm.strangerEvery > 0 && n % storm.strangerEvery === 0) counted += await countElsewhere(stranger);
    await app.sync();
  }
  app.proxy.setPlan({ kind: 'pass' });
  for (let round = 0; round < ROUNDS_TO_HEAL; round++) await app.sync();
  const { meters } = (await app.get('/api/admin/reports')).body as unknown as Backlog;
  const held = meters.flatMap(({ uncertain }) => uncertain);
  return {
    counted,
    atCloud: (await vendor.showLicense(key)).total_consumptions,
    cuts: app.proxy.requests.filter(({ fault }) => fault === 'cut_after').length,
    untold: meters.reduce((sum, { pending }) => sum + pending, 0),
    held: held.reduce((sum, { amount }) => sum + amount, 0),
    underWay: meters.filter(({ under_way }) => under_way !== null).length,
  };
}

const REPORT_PATH = '/api/v4/add_consumption';
const ROUNDS_TO_HEAL = 3;

type Facts = Readonly<Record<string, unknown>>;

interface Backlog {
  readonly meters: readonly {
    readonly pending: number;
    readonly under_way: Facts | null;
    readonly uncertain: readonly { readonly amount: number }[];
  }[];
}

/** The way to a cloud that does not know the ids of reports. */
export async function hideReportIds(t: StormContext, target: string): Promise<string> {
  const proxy = await openChaosProxy({ target, plan: { kind: 'strip', field: 'report_id' } });
  t.after(() => proxy.close());
  // A cloud that tells requests apart would notice that they were changed.
  proxy.hideHeaders(NONCE_HEADER);
  return proxy.url;
}

async function countElsewhere(stranger: CloudApp): Promise<number> {
  const counted = await count(stranger, 7);
  await stranger.sync();
  return counted;
}

async function count(app: CloudApp, amount: number): Promise<number> {
  const answer = await app.post('/api/v4/add_consumption', { product: 'cad', consumptions: amount });
  assert.equal(answer.status, 200, answer.text);
  return amount;
}
