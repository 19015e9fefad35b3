import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { makeQrCode, type QrCode } from '@berth/protocol/carried/qr-code';
import { readScannedText, writeScannedText } from '@berth/protocol/carried/scanned-text';
import { codeSymbols, groupCode, groupHardwareId, readTypedCode } from '@berth/protocol/carried/typed-code';
import { createCommandLine } from '../support/cloud/cloud-command-line.ts';
import { openOfflineApp } from '../support/cloud/offline-app.ts';
import { createTestPortal } from '../support/cloud/test-portal.ts';
import { ensureTool } from '../support/install-tools.ts';
import { temporaryFolder } from '../support/server-process.ts';
import type { TestApp } from '../support/test-app.ts';

const HARDWARE_ID = '0123456789abcdef'.repeat(4);

/** A vendor with a portal and a server without internet; between them, a person who types. */
async function openBoth(t: TestContext) {
  const portal = createTestPortal(t);
  const airgapKey = createPublicKey(portal.cloud.folder.airgapKey);
  const vendorKey = portal.cloud.publicKey;
  const app = await openOfflineApp(t, { vendorKey, airgapKey, hardwareId: HARDWARE_ID });
  const hand = (fields: Record<string, string>, path = 'airgap') =>
    portal.cloud.send(`/portal/${path}`, { method: 'POST', body: new URLSearchParams(fields) });
  return { portal, app, hand };
}

async function activate(app: TestApp, key: string, code: string): Promise<string> {
  const { status, body } = await app.post('/api/v4/airgap/generate', { license_key: key, signing_key: code });
  assert.equal(status, 200, JSON.stringify(body));
  return body.activation_code as string;
}

function readField(page: string, id: string): string {
  const found = new RegExp(`id="${id}"[^>]*>([^<]+)</textarea>`).exec(page)?.[1];
  assert.ok(found !== undefined, id);
  return found;
}

describe('codes that a person carries', () => {
  test('in groups, all the way, in small letters and with other separators', async (t) => {
    const { portal, app, hand } = await openBoth(t);
    const { key } = portal;
    const code = await activate(app, key, groupCode(portal.start()).toLowerCase());
    const fields = {
      license_key: key,
      hardware_id: (groupHardwareId(HARDWARE_ID) as string).replaceAll('\n', ' '),
      activation_code: groupCode(code).replaceAll(' ', '-').replaceAll('\n', '\r\n'),
    };
    const page = await hand(fields);
    assert.equal(page.status, 200);
    const { text: license_policy } = await hand(fields, 'airgap/policy');
    const policy_id = /id="policy-id" value="(\d+)"/.exec(page.text)?.[1];
    const grouped = readField(page.text, 'grouped-code');
    assert.deepEqual(readTypedCode(grouped, 64), { code: readField(page.text, 'confirmation-code') });
    const proof = { license_policy, license_key: key, policy_id };
    for (const confirmation_code of [grouped, grouped.toLowerCase().replace(/\s/g, ''), `${grouped}\n`]) {
      const { status, text } = await app.post('/api/v4/airgap/license', { ...proof, confirmation_code });
      assert.equal(status, 200, text);
    }
  });

  test('in base64 as before: the API returns and accepts the same', async (t) => {
    const { portal, app, hand } = await openBoth(t);
    const code = await activate(app, portal.key, portal.start());
    assert.match(code, /^[A-Za-z0-9+/]{86}==$/);
    const fields = { license_key: portal.key, hardware_id: HARDWARE_ID, activation_code: code };
    const first = await hand(fields);
    assert.equal(first.status, 200);
    // The same code in another form is the same code: it hears the same answer.
    const again = await hand({ ...fields, activation_code: groupCode(code) });
    assert.equal(readField(again.text, 'grouped-code'), readField(first.text, 'grouped-code'));
  });

  test('a mistake is reported with its line, and uses nothing up', async (t) => {
    const { portal, app, hand } = await openBoth(t);
    const code = await activate(app, portal.key, portal.start());
    const lines = groupCode(code).split('\n');
    const third = lines[2] as string;
    const wrong = lines.with(2, `${third[0] === '7' ? '8' : '7'}${third.slice(1)}`).join('\n');
    const before = portal.dump();
    const fields = { license_key: portal.key, hardware_id: HARDWARE_ID };
    const page = await hand({ ...fields, activation_code: wrong });
    assert.equal(page.status, 400);
    assert.match(page.text, /The activation code is mistyped\. There is a mistake in line 3\./);
    assert.equal(portal.dump(), before);
    const { body } = await app.post('/api/v4/airgap/license', {
      license_policy: 'x',
      license_key: portal.key,
      policy_id: '1',
      confirmation_code: wrong,
    });
    assert.equal(body.code, 'airgap_confirmation_invalid');
    assert.equal(body.message, 'The confirmation code is mistyped. There is a mistake in line 3.');
    assert.equal((await hand({ ...fields, activation_code: lines.join(' ') })).status, 200);
  });

  test('as the text of a QR code, which fills in the other fields', async (t) => {
    const { portal, app, hand } = await openBoth(t);
    const code = await activate(app, portal.key, portal.start());
    const scanned = writeScannedText({
      license_key: portal.key,
      hardware_id: HARDWARE_ID,
      activation_code: codeSymbols(code),
    });
    const page = await hand({ license_key: '', hardware_id: '', activation_code: scanned });
    assert.equal(page.status, 200);
    assert.match(page.text, /<svg class="qr" viewBox="0 0 \d+ \d+" role="img" aria-labelledby="qr-title"/);
    assert.doesNotMatch(page.text, /style=|<script|href="(?!\/portal)/);
  });
});

describe('the QR codes', () => {
  const FIELDS = { license_key: 'K-1', policy_id: '42', confirmation_code: 'A'.repeat(108) };

  /** A picture that every viewer reads: each module of four by four points. */
  function toImage(code: QrCode): string {
    const row = (modules: readonly boolean[]) => modules.flatMap((isDark) => Array(4).fill(isDark ? 0 : 1));
    const rows = code.flatMap((modules) => Array(4).fill(row(modules).join(' ')));
    return `P2 ${code.length * 4} ${code.length * 4} 1\n${rows.join('\n')}\n`;
  }

  test('are read by a scanner', async (t) => {
    if (!(await ensureTool('zbarimg'))) return t.skip('optional: needs zbarimg');
    const file = join(temporaryFolder(t), 'code.pgm');
    const text = writeScannedText(FIELDS);
    writeFileSync(file, toImage(makeQrCode(text)));
    const { stdout } = await promisify(execFile)('zbarimg', ['-q', '--raw', file]);
    assert.equal(stdout.trim(), text);
  });

  test("of the vendor contain what the server needs, and the vendor accepts the server's", async (t) => {
    const run = createCommandLine(t);
    await run('key create test');
    await run('product create cad');
    await run('license create --product cad --key K-GROUPED --slots 5');
    const { out } = await run('airgap start K-GROUPED --qr');
    assert.match(out, /^initialization code {2}\S{44}\n\nThe same in groups/);
    const drawn = out.split('\n').slice(-24);
    assert.ok(drawn.every((line) => /^[█▀▄ ]+$/.test(line)));
    assert.ok(!(await run('airgap start K-GROUPED')).out.includes('█'), 'a script gets no picture');
    const other = 'license_key=OTHER&hardware_id=m&activation_code=ABC';
    const refused = await run(`airgap confirm K-GROUPED --activation-code '${other}'`);
    assert.match(refused.err, /^The QR code is for a different license key\.$/);
    assert.equal(readScannedText(other, 'activation_code')?.get('hardware_id'), 'm');
  });
});
