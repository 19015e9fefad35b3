import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder } from '../../../../test/support/server-process.ts';
import { connectAdmin, ServerUnreachable } from '../../src/cli/admin-client.ts';
import { CONTROL, loadConfig } from '../../src/config.ts';

describe('a command', () => {
  test('gives up a server that takes its connection and never answers', async (t) => {
    const data = temporaryFolder(t);
    const asked: string[] = [];
    const silence = new AbortController();
    const hanging = createServer((socket) => {
      socket
        .on('data', (chunk) => {
          asked.push(String(chunk));
          setTimeout(() => silence.abort(), 300);
        })
        .on('error', () => {});
    });
    await once(hanging.listen(0, '127.0.0.1'), 'listening');
    t.after(() => hanging.close());
    const { port } = hanging.address() as AddressInfo;
    writeFileSync(join(data, CONTROL.file), JSON.stringify({ port, token: 'x' }));
    const { config } = loadConfig({ flags: { data }, env: {}, file: null });
    const holder = async () => 'another Berth process (process id 7)';
    await assert.rejects(
      connectAdmin(config, async () => null, holder, silence.signal),
      (error: Error) => {
        assert.ok(error instanceof ServerUnreachable);
        assert.match(
          error.message,
          /is in use by another Berth process \(process id 7\), which does not answer/,
        );
        return true;
      },
    );
    assert.equal(asked.length, 1, 'it waits for the answer, and does not ask again and again');
    assert.match(asked[0] ?? '', /^GET \/ HTTP/);
  });
});
