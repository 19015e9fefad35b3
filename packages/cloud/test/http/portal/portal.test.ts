import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import { isConfirmationCode } from '@berth/protocol/carried/airgap-codes';
import { okpJwkOf } from '@berth/protocol/grant/jws';
import { createCarriedServer } from '../../../../../test/support/cloud/carried-server.ts';
import type { Answer } from '../../../../../test/support/cloud/test-cloud.ts';
import { createTestPortal, refused, told } from '../../../../../test/support/cloud/test-portal.ts';
import { damage } from '../../../../../test/support/damage.ts';
import { LIMITS } from '../../../src/http/limits/limits.ts';
import { listDevices } from '../../../src/store/devices.ts';

type Portal = ReturnType<typeof createTestPortal>;

/** Sends the form with a file like a browser. */
function handIn({ cloud }: Portal, file: string, fields: Record<string, string> = {}, name = 'file') {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.set(field, value);
  form.set(name, new Blob([file]), 'a.req');
  return cloud.send('/portal/offline', { method: 'POST', body: form });
}

function sendCodes({ cloud }: Portal, fields: Record<string, string>, path = '/portal/airgap') {
  return cloud.send(path, { method: 'POST', body: new URLSearchParams(fields) });
}

/** The text of the note at the top of the page. */
function noteOf({ text }: Answer): string {
  return /class="note \w+"[^>]*>\s*<p>([^<]*)<\/p>/.exec(text)?.[1] ?? '';
}

function assertPage({ headers, text }: Answer): void {
  assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
  const policy = headers.get('content-security-policy') ?? '';
  assert.match(policy, /^default-src 'none'; style-src 'self'; form-action 'self';/);
  assert.doesNotMatch(policy, /unsafe/);
  assert.doesNotMatch(text, /<script|<style|\son\w+=|\sstyle=/i);
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.equal(headers.get('cache-control'), 'no-store');
}

describe('the page', () => {
  test('has both forms, a style of its own, and no script', async (t) => {
    const { cloud } = createTestPortal(t);
    for (const path of ['/portal', '/portal/offline', '/portal/airgap', '/portal/airgap/policy']) {
      const page = await cloud.send(path, {});
      assert.equal(page.status, 200);
      assertPage(page);
      for (const action of ['/portal/offline', '/portal/airgap']) {
        assert.ok(page.text.includes(`<form method="post" action="${action}"`));
      }
    }
    const style = await cloud.send('/portal/style.css', {});
    assert.equal(style.headers.get('content-type'), 'text/css; charset=utf-8');
  });

  test('another method is told the allowed ones', async (t) => {
    const { cloud } = createTestPortal(t);
    const answer = await cloud.send('/portal/offline', { method: 'DELETE' });
    assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'GET, POST, HEAD, OPTIONS']);
  });
});

describe('a file is submitted', () => {
  test('a request: the license comes as a download, the same each time', async (t) => {
    const portal = createTestPortal(t);
    const file = createCarriedServer().request({ licenseKey: portal.key });
    const answer = await handIn(portal, file);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8');
    assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="cad.lic"');
    assert.equal(portal.readFile(answer.text).license.floating_users, 5);
    const many = await Promise.all(
      Array.from({ length: LIMITS.formsPerAddress }, () => handIn(portal, file)),
    );
    for (const one of many) assert.equal(one.text, answer.text);
    assert.equal(listDevices(portal.store, null).length, 1);
  });

  test('under any name, with blanks around it', async (t) => {
    const portal = createTestPortal(t);
    const file = createCarriedServer().request();
    const answer = await handIn(portal, `\n${file}\r\n`, { license_key: ` ${portal.key} ` }, 'anything');
    assert.equal(answer.status, 200);
    portal.readFile(answer.text);
  });

  test('a deactivation: the page says so', async (t) => {
    const portal = createTestPortal(t);
    const server = createCarriedServer('<i>machine</i>');
    await handIn(portal, server.request({ licenseKey: portal.key }));
    const usage = server.usageContent(told(portal.licenseId, portal.key, 3));
    const file = server.request({ request: 'deactivation', licenseKey: portal.key, usage });
    const answer = await handIn(portal, file);
    assert.equal(answer.status, 200);
    assertPage(answer);
    assert.match(noteOf(answer), /^Returned the license for “cad”\./);
    assert.ok(answer.text.includes('&lt;i&gt;machine&lt;/i&gt;') && !answer.text.includes('<i>'));
    assert.match(answer.text, /<td class="amount">3<\/td><td class="amount">3<\/td>/);
    assert.equal((await handIn(portal, file)).text, answer.text, 'and says it again');
  });

  test('a usage file: the page shows what was new', async (t) => {
    const portal = createTestPortal(t);
    const server = createCarriedServer();
    await handIn(portal, server.request({ licenseKey: portal.key }));
    const file = server.usage(told(portal.licenseId, portal.key, 4));
    const answer = await handIn(portal, file);
    assert.equal(noteOf(answer), 'Usage file 1 of machine “machine-1” was counted.');
    assert.match(answer.text, /<td class="amount">4<\/td>/);
    assert.match(
      noteOf(await handIn(portal, file)),
      /has already been counted\. Nothing was counted again\.$/,
    );
    const next = server.usage(told(portal.licenseId, portal.key, 4));
    assert.match(noteOf(await handIn(portal, next)), /It contained nothing new\.$/);
  });
});

describe('an invalid form comes back with a message', () => {
  test('above the form, with what was typed, escaped', async (t) => {
    const portal = createTestPortal(t);
    const file = createCarriedServer().request();
    const typed = `"><script>alert('&')</script>`;
    const answer = await handIn(portal, file, { license_key: typed });
    assert.equal(answer.status, 400);
    assertPage(answer);
    assert.match(noteOf(answer), /^The license does not exist\./);
    assert.ok(answer.text.includes('value="&quot;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;"'));
    const [note, first, second] = ['role="alert"', '/portal/offline"', '/portal/airgap"'].map((part) =>
      answer.text.indexOf(part),
    ) as [number, number, number];
    assert.ok(note > 0 && note < first && first < second);
  });

  test('for every damage of a request or a usage file, and nothing is stored', async (t) => {
    const portal = createTestPortal(t);
    const server = createCarriedServer();
    const request = server.request({ licenseKey: portal.key });
    await handIn(portal, request);
    const files = [
      server.request({ licenseKey: portal.key }),
      server.usage(told(portal.licenseId, portal.key, 4)),
    ];
    const before = portal.dump();
    for (const file of files) {
      // The test of the store tries more; this one sends every 13th over HTTP.
      const damaged = [...damage(file)].filter((_, index) => index % 13 === 0);
      for (const one of damaged) assert.equal((await handIn(portal, one)).status, 400);
    }
    assert.equal(portal.dump(), before);
    for (const file of files) assert.equal((await handIn(portal, file)).status, 200);
  });

  test('for no file, an empty one, or something else', async (t) => {
    const portal = createTestPortal(t);
    const none = await portal.cloud.send('/portal/offline', { method: 'POST', body: new URLSearchParams() });
    const empty = await handIn(portal, '');
    for (const answer of [none, empty]) {
      assert.deepEqual([answer.status, noteOf(answer)], [400, 'Choose the file from the server first.']);
    }
    for (const file of ['%PDF-1.7', '{}', Buffer.from('{}').toString('base64')]) {
      assert.match(noteOf(await handIn(portal, file)), /^The file is not a request or a usage file/);
    }
    const newer = Buffer.from('{"usage":{"schema_version":2}}').toString('base64');
    assert.match(
      noteOf(await handIn(portal, newer)),
      /^The file was made by a newer Berth than this cloud\./,
    );
  });

  test('for a file beyond 512 KiB, a form beyond that, and what is not a form', async (t) => {
    const portal = createTestPortal(t);
    const before = portal.dump();
    const large = await handIn(portal, 'A'.repeat(512 * 1024 + 1));
    assert.deepEqual([large.status, noteOf(large)], [413, 'The file is larger than 524288 bytes.']);
    const larger = await handIn(portal, 'A'.repeat(3 * 1024 * 1024));
    assert.deepEqual([larger.status, noteOf(larger)], [413, 'The body is larger than 589824 bytes.']);
    for (const type of ['text/plain', 'multipart/form-data', 'multipart/form-data; boundary=x']) {
      const init = { method: 'POST', headers: { 'Content-Type': type }, body: 'A'.repeat(100) };
      const answer = await portal.cloud.send('/portal/offline', init);
      assert.equal(answer.status, 400, type);
      assertPage(answer);
      assert.match(noteOf(answer), /^The form is not valid\./);
    }
    assert.equal(portal.dump(), before);
  });

  test('for too many forms at once from one address, or in all', async (t) => {
    const portal = createTestPortal(t);
    const endings: (() => void)[] = [];
    const slowly = (place: string) => {
      const body = new ReadableStream({ start: (stream) => void endings.push(() => stream.close()) });
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
      const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
      return portal.cloud.send('/portal/airgap', init, place);
    };
    const slow = Array.from({ length: LIMITS.formsPerAddress }, () => slowly('192.0.2.1'));
    const answer = await slowly('192.0.2.1');
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [429, '1']);
    assertPage(answer);
    assert.match(noteOf(answer), /^Too many concurrent forms from your address/);
    assert.equal(
      (await portal.cloud.send('/portal', {}, '192.0.2.1')).status,
      200,
      'the page itself is there',
    );
    assert.equal((await sendCodes(portal, {})).status, 400, 'another address has its turns');
    for (let count = slow.length; count < LIMITS.forms; count++) slow.push(slowly(`198.51.100.${count}`));
    assert.match(noteOf(await sendCodes(portal, {})), /^The portal is busy/);
    for (const end of endings) end();
    for (const one of await Promise.all(slow)) assert.equal(one.status, 400);
    assert.equal((await sendCodes(portal, {})).status, 400, 'and then there is room again');
  });

  test('a bug also gets a page, without details', async (t) => {
    const portal = createTestPortal(t);
    portal.store.db.exec('DROP TABLE offline_request');
    const answer = await handIn(portal, createCarriedServer().request({ licenseKey: portal.key }));
    assert.equal(answer.status, 500);
    assertPage(answer);
    assert.doesNotMatch(answer.text, /offline_request/);
    assert.match(portal.cloud.log.join('\n'), /no such table: offline_request/);
  });
});

describe('codes are confirmed', () => {
  test('with a policy id, a confirmation code and a file', async (t) => {
    const portal = createTestPortal(t);
    const { key, cloud } = portal;
    const activation_code = createCarriedServer('vault').activationCode(key, portal.start());
    const fields = { license_key: key, hardware_id: 'vault', activation_code };
    const page = await sendCodes(portal, fields);
    assert.equal(page.status, 200);
    assertPage(page);
    const policyId = /id="policy-id" value="(\d+)" readonly/.exec(page.text)?.[1] ?? '';
    const code = /<textarea id="confirmation-code"[^>]* readonly>([^<]+)</.exec(page.text)?.[1] ?? '';
    const publicKey = createPublicKey(cloud.folder.airgapKey);
    assert.ok(isConfirmationCode(publicKey, { hardwareId: 'vault', licenseKey: key, policyId }, code));
    const file = await sendCodes(portal, fields, '/portal/airgap/policy');
    assert.equal(file.headers.get('content-disposition'), 'attachment; filename="cad-policy.lic"');
    assert.equal(String(portal.readFile(file.text).license.id), policyId);
    assert.deepEqual((await sendCodes(portal, fields)).text, page.text, 'and the same again');
  });

  test('without a certificate: a grant key that is typed or scanned here proves nothing', async (t) => {
    const portal = createTestPortal(t);
    const { key } = portal;
    const activation_code = createCarriedServer('vault').activationCode(key, portal.start());
    const { x: grant_key } = okpJwkOf(generateKeyPairSync('ed25519').publicKey);
    const fields = { license_key: key, hardware_id: 'vault', activation_code, grant_key };
    const page = await sendCodes(portal, { activation_code: `${new URLSearchParams(fields)}` });
    assertPage(page);
    assert.match(page.text, /send the grant key[\s\S]+to the vendor/);
    assert.equal((await sendCodes(portal, fields, '/portal/airgap/certificate')).status, 404);
    const policy = await sendCodes(portal, fields, '/portal/airgap/policy');
    assert.equal(portal.readFile(policy.text).fields.server_certificates, undefined);
    assert.equal(refused(portal.certify(null)), 'missing_parameters', 'nor is it remembered');
  });

  test('or refused, with the typed values in the fields and the form first', async (t) => {
    const portal = createTestPortal(t);
    portal.start();
    const before = portal.dump();
    for (const [fields, sentence] of [
      [{ license_key: portal.key }, /^The activation code is mistyped\./],
      [{ license_key: portal.key, activation_code: 'x&y=' }, /^The activation code does not match/],
      [{ license_key: 'K-<NONE>', activation_code: 'x&y=' }, /^The activation code does not match/],
      [{ license_key: portal.key, hardware_id: '' }, /^The hardware id is not valid\./],
    ] as const) {
      for (const path of ['/portal/airgap', '/portal/airgap/policy']) {
        const all = { hardware_id: 'vault', activation_code: 'x&y', ...fields };
        const answer = await sendCodes(portal, all, path);
        assert.equal(answer.status, 400);
        assertPage(answer);
        assert.match(noteOf(answer), sentence);
        assert.ok(/>x&amp;y=?<\/textarea>/.test(answer.text));
        assert.ok(answer.text.indexOf('/portal/airgap"') < answer.text.indexOf('/portal/offline"'));
      }
    }
    assert.equal(portal.dump(), before);
  });

  test('and the log knows neither keys nor codes', async (t) => {
    const portal = createTestPortal(t);
    const server = createCarriedServer('vault');
    const code = server.activationCode(portal.key, portal.start());
    await sendCodes(portal, { license_key: portal.key, hardware_id: 'vault', activation_code: code });
    const other = createCarriedServer('bow').request();
    await handIn(portal, other, { license_key: portal.cloud.grant({ slots: 1 }) });
    const log = portal.cloud.log.join('\n');
    assert.match(log, /"route":"portal_airgap","status":200/);
    assert.match(log, /"route":"portal_offline","status":200/);
    for (const secret of [portal.key, code, 'vault']) assert.ok(!log.includes(secret));
  });
});
