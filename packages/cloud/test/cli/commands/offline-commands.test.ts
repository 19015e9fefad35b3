import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { isConfirmationCode, readAirgapPublicKey } from '@berth/protocol/carried/airgap-codes';
import { encodeBase64 } from '@berth/protocol/carried/canonical-base64';
import { isVendorFile, readLicenseFile } from '@berth/protocol/carried/license-file';
import { cloudLicense } from '@berth/protocol/cloud/cloud-license';
import { publicKeyFingerprint } from '@berth/protocol/cloud/server-key';
import { readPublicKey } from '@berth/protocol/cloud/vendor-signature';
import { okpJwkOf } from '@berth/protocol/grant/jws';
import { createCarriedServer } from '../../../../../test/support/cloud/carried-server.ts';
import { ask, createCommandLine } from '../../../../../test/support/cloud/cloud-command-line.ts';
import { cloudFolder } from '../../../../../test/support/cloud/test-cloud.ts';
import { told } from '../../../../../test/support/cloud/test-portal.ts';

const KEY = 'ACME-0001';
const NEWER = /^The file was made by a newer Berth than this cloud\. .*update the cloud.* same file again\.$/;

/** A vendor with a consumption license and a folder for files. */
async function createDesk(t: TestContext, flags = '') {
  const data = cloudFolder(t);
  const run = createCommandLine(t, data);
  await run('product create cad');
  const { id } = await ask(
    run,
    `license create --product cad --key ${KEY} --slots 5 --consumptions 10 ${flags}`,
  );
  const server = createCarriedServer();
  const put = (name: string, text: string) => {
    writeFileSync(join(data, name), text);
    return join(data, name);
  };
  const publicKey = readPublicKey((await run('public-key')).out);
  return { data, run, id: id as number, server, put, publicKey };
}

describe('cloud offline', () => {
  test('activate prints the file and nothing else, or writes it for its owner alone', async (t) => {
    const { run, server, put, data, publicKey } = await createDesk(t);
    const request = put('a.req', server.request({ licenseKey: KEY }));
    const { code, out, err } = await run(`offline activate ${request}`);
    assert.deepEqual([code, err], [0, '']);
    const read = readLicenseFile(out);
    assert.ok(isVendorFile(read, publicKey));
    assert.equal(cloudLicense.parse(read.fields).floating_users, 5);
    const target = put('a.lic', 'something that everybody may read');
    chmodSync(target, 0o644);
    const written = await run(`offline activate ${request} --out ${target}`);
    assert.match(
      written.out,
      /^Saved license ACME-0001 for machine "machine-1" in \S+a\.lic\.\nIt has no certificate/,
    );
    assert.equal(readFileSync(target, 'utf8'), out, 'the same again, and no line end');
    assert.equal(statSync(target).mode & 0o777, 0o600);
    const facts = await ask(run, `offline activate ${request}`);
    assert.deepEqual([facts.file, facts.license_key, facts.hardware_id], [out, KEY, 'machine-1']);
    assert.equal((await run(`offline activate ${request} --out ${join(data, 'no', 'where')}`)).code, 1);
  });

  test('a request without a key needs one', async (t) => {
    const { run, server, put } = await createDesk(t);
    const request = put('a.req', server.request());
    const { code, err } = await run(`offline activate ${request}`);
    assert.deepEqual([code, err], [1, 'The request does not name a license. Give its license key.']);
    assert.equal((await run(`offline activate ${request} --key ${KEY}`)).code, 0);
  });

  test('refresh is newer', async (t) => {
    const { run, server, put, publicKey } = await createDesk(t, '--activations 2');
    await run(`offline activate ${put('a.req', server.request({ licenseKey: KEY }))}`);
    const read = readLicenseFile((await run(`offline refresh ${KEY}`)).out);
    assert.ok(isVendorFile(read, publicKey));
    assert.equal(read.fields.license_signature, undefined);
    const other = createCarriedServer('machine-2').request({ licenseKey: KEY });
    await run(`offline activate ${put('b.req', other)}`);
    assert.match((await run(`offline refresh ${KEY}`)).err, /on 2 machines\. Select one with --device; /);
    const { hardware_id } = await ask(run, `offline refresh ${KEY} --device machine-2`);
    assert.equal(hardware_id, 'machine-2');
  });

  test('usage counts what is new, and shows it with the license', async (t) => {
    const { run, server, put, id } = await createDesk(t);
    await run(`offline activate ${put('a.req', server.request({ licenseKey: KEY }))}`);
    const file = put('1.usage', server.usage(told(id, KEY, 12)));
    const { out } = await run(`offline usage ${file}`);
    assert.match(
      out,
      /^Counted usage file 1 of machine "machine-1"\.\n\nlicense +feature +added +total\n\S+ +- +12 +12$/,
    );
    assert.equal(
      (await run(`offline usage ${file}`)).out,
      'Usage file 1 of machine "machine-1" has already been counted.',
    );
    assert.match((await run(`license show ${KEY}`)).out, /consumption +12 of 10/);
    const empty = put('2.usage', server.usage(told(id, KEY, 12)));
    assert.equal((await run(`offline usage ${empty}`)).out, 'Counted usage file 2 of machine "machine-1".');
  });

  test('deactivate counts and frees, and reports the same when repeated', async (t) => {
    const { run, server, put, id } = await createDesk(t);
    await run(`offline activate ${put('a.req', server.request({ licenseKey: KEY }))}`);
    const usage = server.usageContent(told(id, KEY, 3));
    const file = put('d.req', server.request({ request: 'deactivation', licenseKey: KEY, usage }));
    const first = await run(`offline deactivate ${file}`);
    assert.match(first.out, /^Deactivated license ACME-0001 on machine "machine-1"\.\n\n[\s\S]+ 3 +3$/);
    assert.deepEqual(await run(`offline deactivate ${file}`), first);
    assert.equal((await run(`device list ${KEY}`)).out, 'No devices.');
  });

  test('an unknown key waits for "device approve"', async (t) => {
    const { run, server, put, id } = await createDesk(t);
    const started = (await ask(run, `airgap start ${KEY}`)).initialization_code as string;
    const code = server.activationCode(KEY, started);
    await run(`airgap confirm ${KEY} --hardware-id machine-1 --activation-code ${code}`);
    const usage = put('u', server.usage(told(id, KEY, 3)));
    const fingerprint = publicKeyFingerprint(server.serverKey);
    const refusal = await run(`offline usage ${usage} --json`);
    assert.equal(refusal.code, 1);
    const { code: why, ...facts } = JSON.parse(refusal.out);
    assert.deepEqual([why, facts.fingerprint], ['server_key_not_approved', fingerprint]);
    const row = new RegExp(`^machine-1 +${fingerprint} +- +usage +${KEY} +- +\\S+Z$`, 'm');
    assert.match((await run('device list')).out, row);
    const other = publicKeyFingerprint(createCarriedServer().serverKey);
    assert.match(
      (await run(`device approve machine-1 ${other}`)).err,
      /^No key with this fingerprint is waiting/,
    );
    const { out } = await run(`device approve machine-1 ${fingerprint}`);
    assert.match(
      out,
      new RegExp(
        `^fingerprint +${fingerprint}\ngrant key +not told\nasks for +usage\nlicenses +${KEY}\n`,
        'm',
      ),
    );
    assert.match((await run(`offline usage ${usage}`)).out, /^Counted usage file /);
    assert.doesNotMatch((await run('device list')).out, /waits/);
    const known = new RegExp(`^machine-1 +${fingerprint} +yes +yes +\\S+Z$`, 'm');
    assert.match((await run(`device list ${KEY}`)).out, known);
    assert.match((await run('event list')).out, /server_key_approved +hardware_id=machine-1/);
  });

  test('a known key that is not confirmed is shown as such, and can be approved at once', async (t) => {
    const { run, server, put } = await createDesk(t);
    await run(`offline activate ${put('a.req', server.request({ licenseKey: KEY }))}`);
    const fingerprint = publicKeyFingerprint(server.serverKey);
    const row = (confirmed: string) =>
      new RegExp(`^machine-1 +${fingerprint} +${confirmed} +${confirmed} +\\S+Z$`, 'm');
    assert.match((await run('device list')).out, row('no'));
    assert.match(
      (await run(`device approve machine-1 ${fingerprint}`)).out,
      /^Approved this key for machine "machine-1"\.\n/,
    );
    assert.match((await run('device list')).out, row('yes'));
  });

  test('says what is wrong with a file', async (t) => {
    const { run, server, put } = await createDesk(t);
    const activation = put('a.req', server.request({ licenseKey: KEY }));
    const deactivation = put('d.req', server.request({ licenseKey: KEY, request: 'deactivation' }));
    const usage = put('u', server.usage([]));
    const newer = put('n', encodeBase64('{"request":{"schema_version":3}}'));
    const newerUsage = put('nu', encodeBase64('{"usage":{"schema_version":2}}'));
    const large = put('large', 'A'.repeat(512 * 1024 + 4));
    for (const [words, code, sentence] of [
      [`activate ${usage}`, 1, /is not a request of a server, or it is damaged\. .*"berth offline request"/],
      [`activate ${deactivation}`, 1, /asks for deactivation\. Use "cloud offline deactivate --data \S+"\.$/],
      [`deactivate ${activation}`, 1, /asks for activation\. Use "cloud offline activate --data \S+"\.$/],
      [`usage ${activation}`, 1, /is not a usage file, or it is damaged\. .*"berth offline usage"/],
      [`activate ${newer}`, 1, NEWER],
      [`usage ${newerUsage}`, 1, NEWER],
      [`activate ${large}`, 2, /has 524292 bytes; files of a server have at most 524288\.$/],
      [`usage ${usage}.missing`, 1, /^The file \S+\.missing does not exist\.$/],
      [`deactivate ${deactivation}`, 1, /^The license does not exist on this machine\./],
    ] as const) {
      const ran = await run(`offline ${words}`);
      assert.deepEqual([ran.code, ran.out], [code, ''], words);
      assert.match(ran.err, sentence);
    }
  });
});

describe('cloud airgap', () => {
  test('start, confirm and policy complete an activation', async (t) => {
    const { run, server, id, data, publicKey } = await createDesk(t);
    const started =
      /^initialization code {2}(\S{44})$/m.exec((await run(`airgap start ${KEY}`)).out)?.[1] ?? '';
    const code = server.activationCode(KEY, started);
    const words = `airgap confirm ${KEY} --hardware-id machine-1 --activation-code ${code}`;
    const { out } = await run(words);
    const shown = /^policy id +(\d+)\nconfirmation code +(\S{88})\npolicy file +(\S+)$/m.exec(out) ?? [];
    const [, policyId = '', confirmationCode = '', policyFile = ''] = shown;
    assert.equal(policyId, String(id));
    const airgapKey = readAirgapPublicKey((await run('airgap-public-key')).out);
    assert.ok(airgapKey !== null);
    const facts = { hardwareId: 'machine-1', licenseKey: KEY, policyId };
    assert.ok(isConfirmationCode(airgapKey, facts, confirmationCode));
    assert.ok(isVendorFile(readLicenseFile(policyFile), publicKey));
    const target = join(data, 'p.lic');
    assert.ok((await run(`${words} --out ${target}`)).out.includes(`policy file        ${target}\n`));
    assert.equal(readFileSync(target, 'utf8'), policyFile, 'the same again');
    const newer = readLicenseFile((await run(`airgap policy ${KEY}`)).out);
    assert.ok((newer.fields.date as string) > (readLicenseFile(policyFile).fields.date as string));
    const saved = (await run(`airgap policy ${KEY} --out ${target}`)).out;
    assert.ok(saved.startsWith(`Saved policy ${id} in ${target}.\nIt has no certificate`), saved);
  });

  test('get a certificate from the vendor, until a date that the vendor chooses and sees', async (t) => {
    const { run, server, data } = await createDesk(t);
    const started = (await ask(run, `airgap start ${KEY}`)).initialization_code as string;
    const { x: grant_key } = okpJwkOf(generateKeyPairSync('ed25519').publicKey);
    const activation_code = server.activationCode(KEY, started);
    const scanned = new URLSearchParams({
      license_key: KEY,
      hardware_id: 'machine-1',
      activation_code,
      grant_key,
    });
    const { out } = await run(`airgap confirm ${KEY} --activation-code '${scanned}'`);
    const words = `certificate issue ${KEY} --grant-key=${grant_key}`;
    assert.ok(out.includes(`none; make one with "cloud ${words}"`), out);
    const daysOf = (at: string) => Math.round((Date.parse(at) - Date.now()) / 86_400_000);
    assert.equal(daysOf((await ask(run, words)).expires_at), 365);
    const chosen = await run(`${words} --certificate-days 90 --out ${join(data, 'a.cert')}`);
    assert.equal(daysOf(/valid until (\S+),/.exec(chosen.out)?.[1] ?? ''), 90, chosen.out);
    const policy = await run(`airgap policy ${KEY} --certificate-days 7 --out ${join(data, 'p.lic')}`);
    const until = /Its certificate for the server is valid until (\S+)\.$/.exec(policy.out)?.[1] ?? '';
    assert.equal(daysOf(until), 7, policy.out);
    const { devices } = await ask(run, `device list ${KEY}`);
    assert.deepEqual([daysOf(devices[0].certified_until), devices[0].grant_key], [365, grant_key]);
    assert.equal((await run(`${words} --certificate-days 0`)).code, 2);
  });

  test('says what is wrong', async (t) => {
    const { run } = await createDesk(t);
    assert.match((await run('airgap start NONE')).err, /No license has the key "NONE"/);
    assert.match(
      (await run(`airgap confirm ${KEY}`)).err,
      /^"cloud airgap confirm" needs --activation-code C\.\n/,
    );
    const without = await run(`airgap confirm ${KEY} --activation-code x`);
    assert.match(without.err, /^Add --hardware-id H\. /);
    const wrong = await run(`airgap confirm ${KEY} --hardware-id m --activation-code x`);
    assert.deepEqual([wrong.code, wrong.out], [1, '']);
    assert.match(wrong.err, /^The activation code is mistyped\. It has 1 characters instead of 108\.$/);
    assert.match(
      (await run(`airgap policy ${KEY}`)).err,
      /not activated by codes\. Begin with "cloud airgap start/,
    );
  });
});
