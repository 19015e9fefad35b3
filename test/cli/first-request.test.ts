import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { makeTestCertificate } from '../support/certificate.ts';
import { ensureTool } from '../support/install-tools.ts';
import { pollUntil } from '../support/poll.ts';
import { startServerProcess, temporaryFolder } from '../support/server-process.ts';

const run = promisify(execFile);

async function start(t: TestContext, data: string, ...args: readonly string[]) {
  const server = await startServerProcess({ data, args });
  t.after(() => server.stop('SIGKILL'));
  return server;
}

const findLine = (log: string, word: string) => log.split('\n').find((line) => line.includes(word));

for (const [title, names] of [
  ['over HTTP', null],
  ['over TLS, by the address', ['127.0.0.1']],
  ['over TLS, by a name that is known only to the certificate', ['licenses.example']],
] as const) {
  test(`the first start suggests a request that works as it is printed, ${title}`, async (t) => {
    if (!(await ensureTool('curl'))) return t.skip('optional: needs curl');
    const folder = temporaryFolder(t);
    const [cert, key] = [join(folder, 'a cert.pem'), join(folder, 'key.pem')];
    const pair = names === null ? null : makeTestCertificate({ names });
    if (pair !== null) writeFileSync(cert, pair.cert);
    if (pair !== null) writeFileSync(key, pair.key);
    const tls = pair === null ? [] : ['--tls-cert', cert, '--tls-key', key];
    const server = await start(t, join(folder, 'data'), '--demo', '--host', '0.0.0.0', ...tls);
    const line = await pollUntil('the suggestion', () => findLine(server.readLog(), 'curl '));
    const { stdout } = await run('sh', ['-c', line]);
    const { product, floating_slots_in_use } = JSON.parse(stdout);
    assert.deepEqual([product, floating_slots_in_use], ['demo', 1]);
  });
}

test('the first start says what to open and how to add a license, and later ones say nothing', async (t) => {
  const data = join(temporaryFolder(t), 'data');
  const first = await start(t, data);
  await pollUntil('the hint', () => findLine(first.readLog(), '"berth license add PRODUCT --data '));
  const places = `Open ${first.url} in a browser on this machine. All data is in ${data}.\n`;
  assert.ok(first.readLog().includes(places), first.readLog());
  assert.equal(await first.stop(), 0);
  const second = await start(t, data);
  assert.equal(await second.stop(), 0);
  assert.doesNotMatch(second.readLog(), /license add|curl|browser/);
});
