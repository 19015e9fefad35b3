import { text } from 'node:stream/consumers';
import type { paths } from 'berth-api';
import createClient from 'openapi-fetch';
import type { Site } from './site-facts.ts';

/*
 * Calls every operation of the v4 API with the types that openapi-typescript makes of the document. Reads
 * what it needs from standard input, and prints the method and path of each operation that it called. Only
 * the test checks the types of this file, because "berth-api" is generated there.
 */
type Answer = { readonly response: Response; readonly error?: unknown };

const site = JSON.parse(await text(process.stdin)) as Site;
const client = createClient<paths>({ baseUrl: site.url });
client.use({
  onRequest({ request, schemaPath }) {
    process.stdout.write(`${request.method.toLowerCase()} ${schemaPath}\n`);
  },
});

function note<A extends Answer>(answer: A): A {
  const { status, url } = answer.response;
  if (!answer.response.ok) throw new Error(`${status} ${url}: ${JSON.stringify(answer.error)}`);
  return answer;
}

const TEXT = { parseAs: 'text' } as const;
const SEAT = { product: 'demo', user: 'ada@example.com', os_hostname: 'ws-7' };

async function readServer(): Promise<void> {
  const { data: health } = note(await client.GET('/api/v4/health'));
  expect(health?.status === 'ok');
  note(await client.GET('/api/v4/openapi.json'));
  note(await client.GET('/api/v4/docs', TEXT));
  note(await client.GET('/api/v4/docs.css', TEXT));
  const query = { product: 'demo' };
  const { data: license } = note(await client.GET('/api/v4/license', { params: { query } }));
  expect(license?.license_type === 'consumption' && license.product_features[0]?.code !== undefined);
  const { data: licenses } = note(await client.GET('/api/v4/licenses', { params: { query } }));
  expect(licenses?.[0]?.product_details.short_code === 'demo');
}

async function lend(): Promise<void> {
  const params = { header: { Prefer: 'return=minimal' } };
  const { data: whole } = note(await client.POST('/api/v4/register', { body: SEAT }));
  expect(whole !== undefined && 'license_key' in whole && whole.license_key.length > 0);
  const { data: short } = note(await client.POST('/api/v4/register', { body: SEAT, params }));
  expect(short !== undefined && !('license_key' in short) && short.renew_in_seconds > 0);
  const { data: alias } = note(await client.POST('/api/v4/floating/register', { body: SEAT, params }));
  expect(alias?.is_borrowed === false);
  const borrowed_until = new Date(Date.now() + 7_200_000).toISOString();
  const body = { ...SEAT, borrowed_until };
  const { data: borrowed } = note(await client.POST('/api/v4/borrow', { body, params }));
  expect(borrowed?.borrowed_until === borrowed_until);
  const { data: returned } = note(await client.POST('/api/v4/unregister', { body: SEAT, ...TEXT }));
  expect(returned === 'user_unregistered');
  const { error } = await client.POST('/api/v4/floating/unregister', { body: SEAT, ...TEXT });
  expect(error !== undefined);
  await client.POST('/api/v4/register', { body: SEAT });
  note(await client.POST('/api/v4/floating/unregister', { body: SEAT, ...TEXT }));
  for (const path of ['/api/v4/unregister/all', '/api/v4/floating/unregister/all'] as const) {
    note(await client.GET(path, TEXT));
    note(await client.POST(path, TEXT));
  }
}

async function count(): Promise<void> {
  const params = { header: { 'Idempotency-Key': 'job-1' } };
  for (const consumptions of [3, '3']) {
    const body = { product: 'demo', consumptions };
    const { data } = note(await client.POST('/api/v4/add_consumption', { body, params }));
    expect(data?.total_consumptions === 3);
  }
  const body = { product: 'demo', feature: 'export', consumptions: 2 };
  const { data } = note(await client.POST('/api/v4/add_feature_consumption', { body }));
  expect(data?.total_consumptions === 2);
}

async function useFeatures(): Promise<void> {
  await client.POST('/api/v4/register', { body: SEAT });
  const body = { ...SEAT, feature: 'render' };
  const pairs = [
    ['/api/v4/featureRegister', '/api/v4/featureRelease', '/api/v4/featureRelease/all'],
    ['/api/v4/check_license_feature', '/api/v4/feature_release', '/api/v4/feature_release/all'],
  ] as const;
  for (const [lendIt, release, releaseAll] of pairs) {
    const { data } = note(await client.POST(lendIt, { body }));
    expect(data?.code === 'render' && data.is_borrowed === false);
    const { data: released } = note(await client.POST(release, { body, ...TEXT }));
    expect(released === 'feature_released');
    note(await client.GET(releaseAll, TEXT));
    note(await client.POST(releaseAll, TEXT));
  }
}

async function useCloud(): Promise<void> {
  const { apiKey, sharedKey, licenseKey } = site;
  note(await client.GET('/api/v4/setKeys', { params: { query: { apiKey: 'another', sharedKey } } }));
  const body = { api_key: apiKey, shared_key: sharedKey };
  const { data: changed } = note(await client.POST('/api/v4/setKeys', { body }));
  expect(changed?.changed.includes('api_key') === true);
  const query = { product: 'cad', licenseKey };
  const { data: added } = note(await client.GET('/api/v4/addProduct', { params: { query } }));
  expect(added?.license_key === licenseKey);
  const { data: removed } = note(await client.GET('/api/v4/removeProduct', { params: { query } }));
  expect(removed?.license_id === added?.id);
  const named = { product: 'cad', license_key: licenseKey };
  note(await client.POST('/api/v4/addProduct', { body: named }));
  note(await client.POST('/api/v4/removeProduct', { body: named }));
}

async function useFiles(): Promise<void> {
  const { data: made } = note(await client.POST('/api/v4/license/generate', { body: {} }));
  expect(typeof made === 'object' && made.signed_by === 'cloud-keys');
  const { data: uploaded } = note(
    await client.POST('/api/v4/license/upload', {
      body: { file: site.licenseFile },
      bodySerializer({ file }) {
        const form = new FormData();
        form.append('file', new Blob([file]), 'server.lic');
        return form;
      },
    }),
  );
  expect(uploaded?.product === 'cam');
  const { licenseKey: license_key, initializationCode: signing_key, policyFile, ...codes } = site.airgap;
  const code = { license_key, signing_key };
  const { data: activation } = note(await client.POST('/api/v4/airgap/generate', { body: code }));
  expect(activation?.license_key === license_key);
  const policy = { license_policy: policyFile, policy_id: codes.policyId };
  const body = { license_key, ...policy, confirmation_code: codes.confirmationCode };
  const { data: installed } = note(await client.POST('/api/v4/airgap/license', { body }));
  expect(installed?.product === 'cae');
}

/** The last part: with the first password, setup is over. */
async function changePassword(): Promise<void> {
  const first = 'the first new password';
  const query = { passwordOld: site.password, passwordNew: first };
  note(await client.GET('/api/v4/setPassword', { params: { query } }));
  const name = `Basic ${btoa(`admin:${first}`)}`;
  const { data } = note(await client.GET('/auth', { headers: { Authorization: name } }));
  const body = { password_old: first, password_new: 'the second new password' };
  const headers = { Authorization: `Bearer ${data?.token}` };
  note(await client.POST('/api/v4/setPassword', { body, headers }));
}

function expect(isTrue: boolean): void {
  if (!isTrue) throw new Error('The answer is not what it should be.');
}

for (const part of [readServer, lend, count, useFeatures, useCloud, useFiles, changePassword]) await part();
