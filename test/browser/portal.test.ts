import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { isConfirmationCode, readAirgapPublicKey } from '@berth/protocol/carried/airgap-codes';
import { isVendorFile, readLicenseFile } from '@berth/protocol/carried/license-file';
import { readTypedCode } from '@berth/protocol/carried/typed-code';
import { cloudLicense } from '@berth/protocol/cloud/cloud-license';
import { readPublicKey } from '@berth/protocol/cloud/vendor-signature';
import type { Browser, Page } from 'playwright-core';
import { createCarriedServer } from '../support/cloud/carried-server.ts';
import { type CloudProcess, startCloudProcess } from '../support/cloud/cloud-process.ts';
import { told } from '../support/cloud/test-portal.ts';
import { startBrowser } from './browser.ts';

/** Everything is started once: browsers and clouds take their time, and a license of one's own is enough. */
let browser: Browser | null = null;
let page: Page;
let cloud: CloudProcess;
const endings: (() => unknown)[] = [];

before(async () => {
  browser = await startBrowser();
  if (browser === null) return;
  cloud = await startCloudProcess({ after: (work) => void endings.push(work) });
  page = await browser.newPage({ javaScriptEnabled: false, acceptDownloads: true });
});

after(async () => {
  await browser?.close();
  for (const end of endings.reverse()) await end();
});

/** The portal on a page without JavaScript, and a license that counts; `null` where there is no browser. */
async function openPortal(t: TestContext) {
  if (browser === null) {
    t.skip('optional: needs Chromium');
    return null;
  }
  await page.goto(`${cloud.url}/portal`);
  const key = await cloud.grant('cad', '--slots', '5', '--consumptions', '10');
  const { id } = await cloud.showLicense(key);
  const put = (name: string, text: string) => {
    writeFileSync(join(cloud.data, name), text);
    return join(cloud.data, name);
  };
  return { key, id, put };
}

/** What a click downloads, as it was saved. */
async function download(button: string, path: string): Promise<string> {
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button }).click(),
  ]);
  await saved.saveAs(path);
  return readFileSync(path, 'utf8');
}

/** Reads a license file as a server would. */
function readAsServer(file: string) {
  const read = readLicenseFile(file);
  assert.ok(isVendorFile(read, readPublicKey(readFileSync(cloud.publicKeyFile, 'utf8'))));
  return { fields: read.fields, license: cloudLicense.parse(read.fields) };
}

async function chooseFile(path: string): Promise<void> {
  await page.getByLabel('File from the server').setInputFiles(path);
}

async function fillCodes(codes: Readonly<Record<string, string>>): Promise<void> {
  const form = page.locator('form[action="/portal/airgap"]');
  for (const [label, value] of Object.entries(codes)) await form.getByLabel(label).fill(value);
  await form.getByRole('button', { name: 'Confirm' }).click();
}

describe('the portal in a browser', () => {
  test('a request becomes a license file, and the same again', async (t) => {
    const portal = await openPortal(t);
    if (portal === null) return;
    const { key, put } = portal;
    const server = createCarriedServer('plant-3');
    await chooseFile(put('a.req', server.request({ product: 'cad' })));
    await page.getByRole('button', { name: 'Submit the file' }).click();
    assert.match(await page.getByRole('alert').innerText(), /^The request does not name a license\./);
    await chooseFile(join(cloud.data, 'a.req'));
    await page.locator('#offline-key').fill(key);
    const file = await download('Submit the file', join(cloud.data, 'a.lic'));
    const { fields, license } = readAsServer(file);
    assert.deepEqual([license.hardware_id, license.floating_users], ['plant-3', 5]);
    assert.match(String(fields.request_id), /^[0-9a-f-]{36}$/);
    assert.equal(await download('Submit the file', join(cloud.data, 'b.lic')), file);
    assert.equal((await cloud.showLicense(key)).activations, 1);
  });

  test('a wrong file is reported above the form, and the typed text stays', async (t) => {
    const portal = await openPortal(t);
    if (portal === null) return;
    const { key, put } = portal;
    const genuine = createCarriedServer().request({ licenseKey: key });
    const json = Buffer.from(genuine, 'base64').toString();
    const changed = Buffer.from(json.replace('machine-1', 'machine-2')).toString('base64');
    for (const [file, sentence] of [
      [changed, /^The request was changed/],
      [genuine.slice(0, -4), /^The file is not a request or a usage file/],
      ['just some text', /^The file is not a request or a usage file/],
    ] as const) {
      await chooseFile(put('wrong', file));
      await page.locator('#offline-key').fill(key);
      await page.getByRole('button', { name: 'Submit the file' }).click();
      const alert = page.getByRole('alert');
      assert.match(await alert.innerText(), sentence);
      assert.equal(await page.locator('#offline-key').inputValue(), key);
      const [note, form] = [await alert.boundingBox(), await page.locator('form').first().boundingBox()];
      assert.ok(note !== null && form !== null && note.y + note.height <= form.y);
    }
    assert.equal((await cloud.showLicense(key)).activations, 0);
  });

  test('usage is accepted, and the license is returned', async (t) => {
    const portal = await openPortal(t);
    if (portal === null) return;
    const { key, id, put } = portal;
    const server = createCarriedServer();
    await chooseFile(put('a.req', server.request({ licenseKey: key })));
    await download('Submit the file', join(cloud.data, 'a.lic'));
    await chooseFile(put('1.usage', server.usage(told(id, key, 4))));
    await page.getByRole('button', { name: 'Submit the file' }).click();
    assert.match(await page.getByRole('status').innerText(), /^Usage file 1 .+ was counted\.$/);
    assert.match(await page.getByRole('row').nth(1).innerText(), /4\s+4$/);
    await page.getByRole('link', { name: 'Back to the portal' }).click();
    const usage = server.usageContent(told(id, key, 6));
    await chooseFile(put('d.req', server.request({ request: 'deactivation', licenseKey: key, usage })));
    await page.getByRole('button', { name: 'Submit the file' }).click();
    assert.match(await page.getByRole('status').innerText(), /^Returned the license /);
    const { activations, total_consumptions } = await cloud.showLicense(key);
    assert.deepEqual([activations, total_consumptions], [0, 6]);
  });

  test('codes: a wrong one is reported, the right one returns all three values', async (t) => {
    const portal = await openPortal(t);
    if (portal === null) return;
    const { key } = portal;
    const started = (await cloud.run('airgap', 'start', key)) as Readonly<Record<string, string>>;
    const server = createCarriedServer('vault');
    const code = server.activationCode(key, started.initialization_code as string);
    const wrong = `${code[0] === 'A' ? 'B' : 'A'}${code.slice(1)}`;
    await fillCodes({ 'License key': key, 'Hardware id': 'vault', 'Activation code': wrong });
    assert.match(await page.getByRole('alert').innerText(), /^The activation code does not match/);
    assert.equal(await page.getByLabel('Hardware id').inputValue(), 'vault');
    await fillCodes({ 'Activation code': code });
    const policyId = await page.getByLabel('Policy id').inputValue();
    const confirmationCode = await page.getByLabel('Confirmation code').inputValue();
    const grouped = page.getByLabel('Or type it in groups');
    assert.deepEqual(readTypedCode(await grouped.inputValue(), 64), { code: confirmationCode });
    assert.ok(await page.getByRole('img', { name: /^QR code/ }).isVisible());
    await page.setViewportSize({ width: 320, height: 640 });
    for (const piece of [grouped, page.getByRole('img')]) {
      const { x, width } = (await piece.boundingBox()) as { x: number; width: number };
      assert.ok(x >= 0 && x + width <= 320);
    }
    const { airgap_public_key } = (await cloud.run('airgap-public-key')) as Readonly<Record<string, string>>;
    const publicKey = readAirgapPublicKey(airgap_public_key as string);
    assert.ok(publicKey !== null);
    const facts = { hardwareId: 'vault', licenseKey: key, policyId };
    assert.ok(isConfirmationCode(publicKey, facts, confirmationCode));
    const file = await download('Download the policy file', join(cloud.data, 'p.lic'));
    assert.equal(String(readAsServer(file).license.id), policyId);
    assert.equal(await page.getByLabel('Grant key').count(), 0, 'which only the vendor certifies');
  });

  test('nothing on a phone is wider than the phone', async (t) => {
    if ((await openPortal(t)) === null) return;
    await page.setViewportSize({ width: 320, height: 640 });
    for (const locator of [page.locator('section').first(), page.locator('button').last()]) {
      const box = await locator.boundingBox();
      assert.ok(box !== null && box.x >= 0 && box.x + box.width <= 320);
    }
  });
});
