import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isVendorFile, readLicenseFile } from '@berth/protocol/carried/license-file';
import { readPublicKey } from '@berth/protocol/cloud/vendor-signature';
import { createCarriedServer } from '../support/cloud/carried-server.ts';
import { startCloudProcess } from '../support/cloud/cloud-process.ts';

const PROCESSES = 4;
const REQUESTS = 8;

async function handIn(url: string, file: string): Promise<string> {
  const form = new FormData();
  form.set('file', new Blob([file]), 'a.req');
  const response = await fetch(`${url}/portal/offline`, { method: 'POST', body: form });
  assert.equal(response.status, 200);
  return response.text();
}

test('one request from many processes and requests at once: one device, and identical files', async (t) => {
  const cloud = await startCloudProcess(t);
  const key = await cloud.grant('cad', '--slots', '5', '--activations', '20');
  const request = createCarriedServer().request({ licenseKey: key, product: 'cad' });
  const path = join(cloud.data, 'a.req');
  writeFileSync(path, request);
  const byProcess = async () =>
    ((await cloud.run('offline', 'activate', path)) as { readonly file: string }).file;
  const files = await Promise.all([
    ...Array.from({ length: PROCESSES }, byProcess),
    ...Array.from({ length: REQUESTS }, () => handIn(cloud.url, request)),
  ]);
  assert.equal(files.length, PROCESSES + REQUESTS);
  assert.equal(new Set(files).size, 1);
  assert.equal((await cloud.showLicense(key)).activations, 1);
  const publicKey = readPublicKey(readFileSync(cloud.publicKeyFile, 'utf8'));
  assert.ok(isVendorFile(readLicenseFile(files[0] as string), publicKey));
});
