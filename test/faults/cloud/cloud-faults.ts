import assert from 'node:assert/strict';
import { type CloudApp, type CloudAppOptions, openCloudApp } from '../../support/cloud/cloud-app.ts';
import { type CloudProcess, startCloudProcess } from '../../support/cloud/cloud-process.ts';
import { signedHeaders } from '../../support/cloud/test-cloud.ts';
import type { Outcome } from './cloud-fault-table.ts';

interface TestLife {
  after(work: () => unknown): void;
}

/** What the vendor has counted and activated, asked without anything in between. */
interface Books {
  readonly total: number;
  readonly exports: number;
  readonly devices: number;
}

/** A real cloud with one license for all tests of a file: each test is a machine of its own. */
export interface Vendor {
  readonly cloud: CloudProcess;
  readonly key: string;
  readBooks(): Promise<Books>;
  isActivated(hardwareId: string): Promise<boolean>;
  /** The vendor's own answer to a question, for whoever wants to replay it. */
  ask(operation: string, fields: Readonly<Record<string, string>>): Promise<GenuineAnswer>;
}

export interface GenuineAnswer {
  readonly code: number;
  readonly body: string;
  readonly headers: { readonly LicenseSignature: string };
}

const AUDITOR = 'auditor';

const TERMS = [
  '--slots',
  '5',
  '--unlimited-consumptions',
  '--unlimited-activations',
  '--feature',
  'export,consumptions=unlimited',
];

export async function openVendor(t: TestLife): Promise<Vendor> {
  const cloud = await startCloudProcess(t);
  const key = await cloud.grant('cad', ...TERMS);
  const ask = (operation: string, fields: Readonly<Record<string, string>>) =>
    askCloud(cloud, operation, fields);
  const who = (hardwareId: string) => ({ product: 'cad', license_key: key, hardware_id: hardwareId });
  await ask('activate_license', who(AUDITOR));
  return {
    cloud,
    key,
    ask,
    async readBooks() {
      const license = JSON.parse((await ask('check_license', who(AUDITOR))).body);
      return {
        total: license.total_consumptions,
        exports: license.product_features[0].total_consumptions,
        devices: license.times_activated,
      };
    },
    async isActivated(hardwareId) {
      const { code, body } = await ask('check_license', who(hardwareId));
      if (code === 200) return true;
      assert.equal(JSON.parse(body).code, 'device_not_found');
      return false;
    },
  };
}

async function askCloud(
  { url, keys }: CloudProcess,
  operation: string,
  fields: Readonly<Record<string, string>>,
) {
  const isGet = operation === 'check_license';
  const headers = signedHeaders(keys, Date.now());
  const address = `${url}/api/v4/${operation}${isGet ? `?${new URLSearchParams(fields)}` : ''}`;
  const init = isGet ? { headers } : { method: 'POST', headers, body: JSON.stringify(fields) };
  const response = await fetch(address, init);
  const signature = response.headers.get('LicenseSignature') ?? '';
  return { code: response.status, body: await response.text(), headers: { LicenseSignature: signature } };
}

type MachineOptions = Pick<CloudAppOptions, 'target' | 'settleMs' | 'hidesNonces'>;

let machines = 0;

/** A server on a machine of its own, with nothing on it. */
export function openMachine(t: TestLife, vendor: Vendor, options: MachineOptions = {}) {
  const hardwareId = `machine-${machines++}`;
  return openCloudApp(t, { vendor: vendor.cloud, hardwareId, ...options }).then((app) => ({
    ...app,
    hardwareId,
  }));
}

export type MachineApp = Awaited<ReturnType<typeof openMachine>>;

/** Long enough to send a request, and short enough to wait for. */
export const SHORT_MS = 1000;
export const LONG_MS = 10_000;

/** Slots are lent and renewed, consumption is counted, whatever the cloud does. Answers what was counted. */
export async function useLicense(
  app: CloudApp,
  amounts: { readonly total: number; readonly exports: number },
) {
  const { total, exports } = amounts;
  const lent = { product: 'cad', user: 'jane@example.com' };
  const answers = [
    await app.post('/api/v4/register', lent),
    await app.post('/api/v4/register', lent),
    await app.post('/api/v4/add_consumption', { product: 'cad', consumptions: total }),
    await app.post('/api/v4/add_feature_consumption', {
      product: 'cad',
      feature: 'export',
      consumptions: exports,
    }),
  ];
  for (const { status, text } of answers) assert.equal(status, 200, text);
  return amounts;
}

interface Meter {
  readonly feature: string | null;
  readonly pending: number;
  readonly reported: number;
  readonly under_way: { readonly amount: number } | null;
  readonly uncertain: readonly { readonly amount: number }[];
}

export async function listMeters(app: CloudApp): Promise<readonly Meter[]> {
  return (await app.get('/api/admin/reports')).body.meters as readonly Meter[];
}

/** What was counted here, and the cloud is not known to have counted. */
export function countUntold(meters: readonly Meter[]) {
  const untold = (feature: string | null) =>
    meters
      .filter((meter) => meter.feature === feature)
      .reduce((sum, { pending, under_way }) => sum + pending + (under_way?.amount ?? 0), 0);
  return { total: untold(null), exports: untold('export') };
}

/** What the server holds of a license, and everything that was ever written about it but counts and slots. */
export async function readHolding({ store }: CloudApp) {
  const licenses = await store.read({ kind: 'list_licenses', product: null });
  const links = await store.read({ kind: 'list_audit', chain: null, before: null, limit: 1000 });
  const news = links.flatMap(({ events }) => events).filter(({ kind }) => NEWS.has(kind));
  return { licenses: licenses.map(({ license }) => license), news };
}

const NEWS: ReadonlySet<string> = new Set([
  'license_added',
  'license_changed',
  'license_removed',
  'total_corrected',
  'report_withdrawn',
  'report_uncertain',
  'consumption_reported',
]);

/** A healed cloud needs no more than this. */
const ROUNDS_TO_TELL = 3;

/** Syncs until everything is told. */
export async function syncUntilTold(app: CloudApp): Promise<void> {
  let untold = { total: 1, exports: 1 };
  for (let round = 0; round < ROUNDS_TO_TELL && untold.total + untold.exports > 0; round++) {
    const { licenses } = await app.sync();
    for (const { error } of licenses) assert.equal(error, null);
    untold = countUntold(await listMeters(app));
  }
  assert.deepEqual(untold, { total: 0, exports: 0 });
  const { cloud } = await app.status();
  const { state, pending, reports_under_way, reports_uncertain } = cloud;
  assert.deepEqual(
    { state, pending, reports_under_way, reports_uncertain },
    {
      state: 'ok',
      pending: 0,
      reports_under_way: 0,
      reports_uncertain: 0,
    },
  );
}

/** An administrator hears a code and a whole sentence, and nobody calls it a mistake of the server. */
export function assertAnswer(answer: { status: number; text: string; body: object }, outcome: Outcome): void {
  const { status, code, message } = answer.body as { status?: number; code?: string; message?: string };
  if (outcome === 'ok') {
    assert.equal(answer.status, 200, answer.text);
    return;
  }
  if (typeof outcome === 'string') assert.deepEqual([answer.status, code], [503, 'cloud_unavailable']);
  else assert.equal(code, outcome.refused);
  assert.equal(status, answer.status);
  assert.ok(answer.status < 500 || answer.status === 503, answer.text);
  assert.match(message ?? '', /^The .*licensing cloud .*[.?]$/);
}

/** How the link is said to be after a question that came to this. */
export function describeOutcome(outcome: Outcome) {
  if (outcome === 'ok') return null;
  if (typeof outcome === 'string') return { code: 'cloud_unavailable', reason: outcome };
  return { code: outcome.refused, reason: null };
}
