import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { WEBHOOK_EXAMPLE, WEBHOOK_SECRET_COMMAND } from '../../packages/admin/src/words/settings.ts';
import { loadConfig } from '../../packages/server/src/config.ts';
import { instant } from '../../packages/server/src/core/nouns/instant.ts';
import { createHttpWebhooks } from '../../packages/server/src/receivers/http-webhooks.ts';
import { refuseAddresses } from '../../packages/server/src/receivers/refused-addresses.ts';
import { readWebhookSecret } from '../../packages/server/src/receivers/webhook-secret.ts';
import { temporaryFolder } from '../support/server-process.ts';

const PAGE = readFileSync(new URL('../../docs/monitoring.md', import.meta.url), 'utf8');
const SECRET = 'x'.repeat(32);

/** The receiver of the page, as a program of its own; answers its lines. */
async function startExample(t: TestContext) {
  const [, example] = /```js\n([\s\S]*?)```/.exec(PAGE) as RegExpExecArray;
  const file = join(temporaryFolder(t), 'receiver.mjs');
  writeFileSync(file, example as string);
  const env = { ...process.env, PORT: '0', BERTH_WEBHOOKS_SECRET: SECRET };
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill());
  const lines = createInterface({ input: child.stdout });
  const [port] = (await once(lines, 'line')) as [string];
  return { url: `http://127.0.0.1:${port}/`, lines };
}

test('the receiver of the page accepts what is genuine and fresh, and nothing else', async (t) => {
  const { url, lines } = await startExample(t);
  const send = (secret: string, offMs: number) => {
    const { signal } = new AbortController();
    const readWall = () => Date.now() + offMs;
    const options = { url, secret, userAgent: 'Berth', timeoutMs: 10_000, signal, readWall };
    const event = { kind: 'server_started', version: '1' } as const;
    const refused = refuseAddresses({ privateAddresses: true });
    const webhooks = createHttpWebhooks({ ...options, refused, present: () => JSON.stringify(event) });
    return webhooks.send([{ id: '1.0', licenseId: null, at: instant(0), event }]);
  };
  const refused = { kind: 'failed', reason: 'it answered with status 401', status: 401 };
  assert.deepEqual(await send('y'.repeat(32), 0), refused, 'another secret');
  assert.deepEqual(await send(SECRET, -301_000), refused, 'too old');
  const printed = once(lines, 'line');
  assert.deepEqual(await send(SECRET, 0), { kind: 'delivered', status: 200 });
  assert.match(String(await printed), /^\{/);
  assert.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 401, 'no signature');
});

test("the example of the administrator's page has all that the server needs", (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'berth.yaml');
  writeFileSync(file, WEBHOOK_EXAMPLE.replace('/etc/berth', folder));
  const { webhooks } = loadConfig({ flags: {}, env: {}, file }).config;
  assert.throws(() => readWebhookSecret('', webhooks.secretFile), /does not exist/);
  const [, made = ''] = WEBHOOK_SECRET_COMMAND.replace('/etc/berth', folder).split(' > ');
  writeFileSync(made, 'x'.repeat(64));
  assert.equal(readWebhookSecret('', webhooks.secretFile)?.length, 64);
});
