import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runBerth } from '../support/berth-command.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';
import { openWebhookReceiver } from '../support/webhook-receiver.ts';

test('settings are changed while the server runs, and the webhook is tested', async (t) => {
  const receiver = await openWebhookReceiver(t);
  const server = ServerUnderTest.make(t);
  await server.start({ isHere: true });
  const run = (...words: readonly string[]) => runBerth(server.data, words);
  const said = (await run('config', 'set', 'backup.keep', '30')).stdout;
  assert.equal(said, 'backup.keep is 30 now.\n');
  const wrong = await run('config', 'set', 'backup.keep', 'many');
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /"backup\.keep" cannot be "many"\. Allowed: whole numbers from 1 to 10000\./);
  await run('config', 'set', 'webhooks.url', receiver.url);
  assert.match((await run('webhook', 'secret')).stdout, /^[\da-f]{64}\n/);
  assert.match((await run('webhook', 'test')).stdout, /^Delivered: status 200 after \d+ ms\.\n$/);
  assert.deepEqual(receiver.kinds, ['webhook_test']);
  assert.match((await run('status')).stdout, /^webhooks +ok, last event delivered at 20/m);
  await server.stop();
  const { webhooks } = JSON.parse((await run('status', '--json')).stdout);
  assert.equal(webhooks.state, 'untried', 'what is stored counts without a server, too');
  assert.match((await run('doctor')).stdout, /webhooks +A webhook is configured/);
  assert.equal(
    (await run('config', 'unset', 'backup.keep')).stdout,
    'The default of backup.keep applies again: 7.\n',
  );
  assert.match(
    (await run('config', 'unset', 'page.name')).stdout,
    /^The default of page\.name .*: empty\.\n$/,
  );
});
