import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { temporaryFolder } from '../../../../test/support/server-process.ts';
import { connectAdmin, ServerUnreachable } from '../../src/cli/admin-client.ts';
import { CONTROL } from '../../src/config.ts';

const PLACE = {
  openStopped: async () => null,
  describeHolder: async () => 'another Berth process (process id 7)',
};

const EMPTY = 'Content-Length: 0\r\nConnection: close';

/** Answers requests until one hangs. */
async function startHanging(t: TestContext, hangs: (request: string) => boolean) {
  const server = createServer((socket) => {
    socket
      .on('data', (chunk) => {
        if (!hangs(String(chunk))) socket.end(`HTTP/1.1 200 OK\r\n${EMPTY}\r\n\r\n`);
      })
      .on('error', () => {});
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  return { port: (server.address() as AddressInfo).port, token: 'x' };
}

describe('a command', () => {
  test('gives up a server that takes its connection and never answers', async (t) => {
    const data = temporaryFolder(t);
    const asked: string[] = [];
    const address = await startHanging(t, (request) => asked.push(request) > 0);
    writeFileSync(join(data, CONTROL.file), JSON.stringify(address));
    const error = await connectAdmin({ ...PLACE, config: { data }, limitMs: 1000 }).catch((caught) => caught);
    assert.ok(error instanceof ServerUnreachable);
    assert.match(
      error.message,
      /is in use by another Berth process \(process id 7\), which has said nothing for 1 seconds/,
    );
    assert.equal(asked.length, 1, 'it waits for the answer, and does not ask again and again');
    assert.match(asked[0] ?? '', /^GET \/ HTTP/);
  });

  test('gives up a server that stops answering while it is asked something', async (t) => {
    const data = temporaryFolder(t);
    const asked: string[] = [];
    const hangs = (request: string) => asked.push(request) > 1;
    writeFileSync(join(data, CONTROL.file), JSON.stringify(await startHanging(t, hangs)));
    const client = await connectAdmin({ ...PLACE, config: { data }, limitMs: 500 });
    await assert.rejects(client.get('/api/admin/status'), /^Error: The server does not answer: /);
    assert.match(asked[1] ?? '', /^GET \/api\/admin\/status HTTP/);
  });
});
