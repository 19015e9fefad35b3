import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { generate, openOfflineApp } from '../../../../../test/support/cloud/offline-app.ts';
import { TEST_VENDOR as vendor } from '../../../../../test/support/cloud/test-vendor.ts';
import { temporaryFolder } from '../../../../../test/support/server-process.ts';
import type { AdminClient } from '../../../src/cli/admin-client.ts';
import { OFFLINE_COMMANDS } from '../../../src/cli/commands/offline-commands.ts';

/** Runs a command against a server in this process, and answers what it says. */
async function openDesk(t: TestContext) {
  const app = await openOfflineApp(t);
  const folder = temporaryFolder(t);
  const send = async (path: string, body: object | string) => {
    const answer = await app.post(path, body);
    return { ok: answer.status === 200, body: answer.body as never };
  };
  const get = async (path: string) => ({ ok: true, body: (await app.get(path)).body as never });
  const client = { get, post: send, upload: send } as unknown as AdminClient;
  const flags = { 'license-key': 'K', 'policy-id': '3' };
  const install = async (words: string, name: string) => {
    const command = OFFLINE_COMMANDS.find((one) => one.words === words);
    assert.ok(command !== undefined && 'ask' in command);
    return command.ask(client, [join(folder, name)], flags, ['bm90IGEgY29kZQ==']);
  };
  const write = (name: string, content: string | Uint8Array) => writeFileSync(join(folder, name), content);
  return { app, folder, install, write };
}

/** What the command prints. */
function show(words: string, body: never): string {
  const command = OFFLINE_COMMANDS.find((one) => one.words === words);
  assert.ok(command !== undefined && 'show' in command);
  return command.show(body, (call) => `berth ${call}`, {});
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

const DAMAGED: Readonly<Record<string, string | Uint8Array>> = {
  'garbage.lic': 'garbage',
  'binary.lic': new Uint8Array([0, 255, 254]),
  'no-json.lic': base64('{"license": "x"'),
  'no-license.lic': base64('{}'),
  'large.lic': 'a'.repeat(3_000_000),
};

describe('a damaged file', () => {
  for (const words of ['offline install', 'airgap install']) {
    test(`is reported by its name, and not as a request ("${words}")`, async (t) => {
      const { folder, install, write } = await openDesk(t);
      for (const [name, content] of Object.entries(DAMAGED)) {
        write(name, content);
        const { ok, body } = await install(words, name);
        const { message } = body as { message: string };
        assert.equal(ok, false, name);
        assert.ok(message.startsWith(`${join(folder, name)} was not installed. `), message);
        assert.match(
          message,
          /Copy it again exactly as the vendor sent it, or ask the vendor for a new one\.$/,
        );
        assert.doesNotMatch(message, /body|license_policy/i);
      }
    });

    test(`is reported when it cannot be read at all ("${words}")`, async (t) => {
      const { folder, install, write } = await openDesk(t);
      write('empty.lic', '\n');
      await assert.rejects(install(words, 'empty.lic'), /empty\.lic is empty\. Copy it again/);
      await assert.rejects(
        install(words, 'none.lic'),
        new RegExp(`The file ${folder}/none\\.lic does not exist\\.`),
      );
      await assert.rejects(install(words, '.'), /is a folder\. Give the path of a file\./);
    });
  }

  test('may also be one that was changed; as it was sent it is accepted', async (t) => {
    const { app, install, write } = await openDesk(t);
    const file = vendor.answer(await generate(app));
    const fields = Buffer.from(file, 'base64').toString('utf8');
    write('changed.lic', base64(fields.replace('"floating_users":', '"floating_users":9')));
    const changed = await install('offline install', 'changed.lic');
    const { message } = changed.body as { message: string };
    assert.match(message, /changed\.lic was not installed\. The file is not signed by the vendor/);
    write('sent.lic', `\uFEFF${file}\r\n`);
    assert.equal((await install('offline install', 'sent.lic')).ok, true);
  });
});

test('an installed license is reported with its certificate, or how to install one', async (t) => {
  const { app, install, write } = await openDesk(t);
  write('a.lic', vendor.answer(await generate(app)));
  const { body } = await install('offline install', 'a.lic');
  assert.match(
    show('offline install', body as never),
    /^Installed license \d+ .+\.\nIt has no certificate\. .+"berth identity certify FILE"\.$/,
  );
  const certified = { ...(body as object), certificate: { expires_at: '2031-01-01T00:00:00.000Z' } };
  assert.match(show('airgap install', certified as never), /its certificate is valid until 2031-01-01T/);
});
