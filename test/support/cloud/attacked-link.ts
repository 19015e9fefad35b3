import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { NONCE_HEADER } from '@berth/protocol/cloud/cloud-binding';
import { readPublicKey } from '@berth/protocol/cloud/vendor-signature';
import type { Fault } from '../chaos/chaos-fault.ts';
import { type CloudApp, openCloudApp } from './cloud-app.ts';
import { ask, createCommandLine } from './cloud-command-line.ts';
import { startCloudHere } from './cloud-process.ts';
import { signedHeaders } from './test-cloud.ts';

export const CHECK = '/api/v4/check_license';
export const ACTIVATE = '/api/v4/activate_license';
export const REPORT = '/api/v4/add_consumption';
export const DEACTIVATE = '/api/v4/deactivate_license';

export interface Recorded {
  readonly code: number;
  readonly body: string;
  readonly headers: { readonly LicenseSignature: string };
}

/** How a server identifies a license. */
export interface Who {
  readonly product: string;
  readonly license_key: string;
  readonly hardware_id: string;
}

interface VendorView {
  readonly activations: number;
  readonly total_consumptions: number;
  readonly features: readonly { readonly total_consumptions: number }[];
}

/** A real cloud, its vendor, and an attacker between the cloud and its servers. */
export async function openAttackedCloud(t: { after(work: () => unknown): void }) {
  const vendor = await startCloudHere(t);
  const commandLine = createCommandLine(t as TestContext, vendor.data);
  const runVendor = (words: string) => ask(commandLine, words);
  await runVendor('product create cad');
  let machines = 0;

  async function grant(...flags: readonly string[]): Promise<string> {
    const words = ['license create --product cad --slots 5', ...flags].join(' ');
    return ((await runVendor(words)) as { license_key: string }).license_key;
  }

  /** The cloud's genuine response to a caller with keys, as an eavesdropper would record it. */
  async function record(operation: string, fields: object, nonce: string | null = null): Promise<Recorded> {
    const headers = {
      ...signedHeaders(vendor.keys, Date.now()),
      ...(nonce === null ? {} : { [NONCE_HEADER]: nonce }),
    };
    const isGet = operation === CHECK;
    const query = isGet ? `?${new URLSearchParams(fields as Record<string, string>)}` : '';
    const init = isGet ? { headers } : { method: 'POST', headers, body: JSON.stringify(fields) };
    const response = await fetch(`${vendor.url}${operation}${query}`, init);
    const LicenseSignature = response.headers.get('LicenseSignature') ?? '';
    return { code: response.status, body: await response.text(), headers: { LicenseSignature } };
  }

  /** A server with a license. `older`: its cloud does not know nonces. */
  async function openServer(test: TestContext, cloud: 'bound' | 'older', ...flags: string[]) {
    const hardwareId = `attacked-${machines++}`;
    const app = await openCloudApp(test, { vendor, hardwareId, hidesNonces: cloud === 'older' });
    const key = await grant('--unlimited-consumptions', ...flags);
    await app.add('cad', key);
    const who: Who = { product: 'cad', license_key: key, hardware_id: hardwareId };
    return { app, key, who };
  }

  return {
    vendor,
    signingKey: createPrivateKey(readFileSync(join(vendor.data, 'signing-key.pem'), 'utf8')),
    vendorKey: readPublicKey(readFileSync(vendor.publicKeyFile, 'utf8')),
    runVendor,
    grant,
    showAtVendor: (key: string) => runVendor(`license show ${key}`) as Promise<VendorView>,
    record,
    openServer,
  };
}

export type AttackedCloud = Awaited<ReturnType<typeof openAttackedCloud>>;

/** Replays a response to one operation instead of the cloud's. */
export function play(app: CloudApp, operation: string, answer: Recorded | Fault): void {
  const fault: Fault = 'kind' in answer ? answer : { kind: 'status', ...answer };
  app.proxy.setPlan(({ path }) => (path === operation ? fault : { kind: 'pass' }));
}

export async function findError(app: CloudApp) {
  return (await app.sync()).licenses[0]?.error ?? null;
}

interface Shown {
  readonly total_consumptions: number;
  readonly floating_users: number;
  readonly cloud_answers_bound: boolean;
  readonly unconfirmed_verdict: string | null;
  readonly lower_total_kept_out: boolean;
  readonly answered_license_id: number | null;
}

/** The license as administrators see it. */
export async function show(app: CloudApp): Promise<Shown> {
  const { licenses } = (await app.get('/api/admin/licenses')).body as { licenses: readonly Shown[] };
  return licenses[0] as Shown;
}

export async function count(app: CloudApp, consumptions: number): Promise<void> {
  assert.equal((await app.post(REPORT, { product: 'cad', consumptions })).status, 200);
}

/** 200, or the reason for the refusal. */
export async function register(app: CloudApp): Promise<unknown> {
  const { status, body } = await app.post('/api/v4/register', { product: 'cad', user: 'ada' });
  return status === 200 ? 200 : body.code;
}
