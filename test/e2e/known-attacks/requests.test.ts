import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { HTTP_LIMITS } from '@berth/web/limits';
import { exchange } from '../../support/raw-socket.ts';
import { startServerHere } from '../../support/server-here.ts';
import { seedLicenses, temporaryFolder } from '../../support/server-process.ts';
import { testLicense } from '../../support/test-license.ts';

/** What a penetration test found about how requests are read, attacked on a real server. */

const COLLEAGUE = '127.0.0.77';

const skip = process.platform === 'darwin' ? 'optional: this platform has one loopback address' : false;

async function startSite(t: TestContext, clients: readonly Client[] = []): Promise<string> {
  const data = join(temporaryFolder(t), 'data');
  await seedLicenses(data, [testLicense(1, { slots: 50 })]);
  const server = await startServerHere({ data });
  t.after(() => {
    for (const { socket } of clients) socket.destroy();
    return server.stop();
  });
  return server.url;
}

const HEAD = 'POST /api/v4/register HTTP/1.1\r\nHost: localhost\r\n';
const BODY = '{"product":"cad","user":"ann"}';
/** As much as a body may have, and nearly as much. */
const LARGE = BODY.padEnd(HTTP_LIMITS.bodyBytes);
const MAX_OF_IT = LARGE.slice(0, -1);
const HOW_MANY = Math.ceil(
  HTTP_LIMITS.unfinishedBytesPerAddress / (HTTP_LIMITS.bodyBytes - HTTP_LIMITS.ordinaryBytes),
);

/** The kinds of requests, without their last byte; and that. */
const KINDS = {
  'of the lane': [`${HEAD}Content-Length: ${LARGE.length}\r\n\r\n${MAX_OF_IT}`, ' '],
  'of Node': [
    `${HEAD}Transfer-Encoding: chunked\r\n\r\n${MAX_OF_IT.length.toString(16)}\r\n${MAX_OF_IT}\r\n`,
    '1\r\n \r\n0\r\n\r\n',
  ],
} as const;

class Client {
  readonly socket: Socket;
  received = '';

  constructor(url: string, localAddress = '127.0.0.1') {
    this.socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress });
    this.socket.on('error', () => {});
    this.socket.setEncoding('latin1').on('data', (text: string) => {
      this.received += text;
    });
  }

  async send(text: string): Promise<void> {
    await new Promise((resolve) => this.socket.write(text, 'latin1', resolve));
  }

  async readStatus(): Promise<string> {
    while (!this.received.includes('\r\n\r\n')) await once(this.socket, 'data');
    return this.received.slice(9, 12);
  }
}

describe('who is taken for the local administrator', () => {
  const ask = async (url: string, target: string, ...headers: string[]) => {
    const lines = headers.map((line) => `${line}\r\n`).join('');
    const { status, text } = await exchange(url, `GET ${target} HTTP/1.1\r\n${lines}\r\n`);
    return [status, status === 200 ? '' : JSON.parse(text).message] as const;
  };
  const STATUS = '/api/admin/status';
  const HOST = 'Host: localhost';

  test('depends on the host in the target as well', async (t) => {
    const url = await startSite(t);
    for (const host of ['localhost', 'localhost:8080', '127.0.0.1', '[::1]:80']) {
      assert.deepEqual(await ask(url, `http://${host}${STATUS}`, HOST), [200, ''], host);
    }
    for (const host of ['evil.example', 'localhost.evil.example', 'localhost@evil.example', '10.0.0.1']) {
      const [status, message] = await ask(url, `http://${host}${STATUS}`, HOST);
      assert.equal(status, 401, host);
      assert.match(message, /because the host in its URL is not localhost/);
    }
    const [status] = await ask(url, `http://localhost${STATUS}`, 'Host: evil.example');
    assert.equal(status, 401, 'nor is one enough');
  });

  test('is not changed by headers with an underscore', async (t) => {
    const url = await startSite(t);
    assert.deepEqual(await ask(url, STATUS, HOST, 'X_Application: x'), [200, '']);
    for (const name of [
      'X_Forwarded_For',
      'X-Forwarded_For',
      'x_real_ip',
      'Cf_Connecting_IP',
      'Sec_Fetch_Site',
    ]) {
      const [status, message] = await ask(url, STATUS, HOST, `${name}: 127.0.0.1`);
      assert.equal(status, 401, name);
      assert.ok(message.includes(`"${name.toLowerCase()}", which`), message);
    }
  });

  test('is nobody who sends two Host headers', async (t) => {
    const url = await startSite(t);
    for (const second of [HOST, 'Host: evil.example', 'host:']) {
      const refusal = [400, 'There is more than one Host header.'];
      assert.deepEqual(await ask(url, STATUS, HOST, second), refusal);
      assert.deepEqual(await ask(url, STATUS, second, HOST), refusal);
      const length = `Content-Length: ${BODY.length}`;
      const { status } = await exchange(url, `${HEAD}${second}\r\n${length}\r\n\r\n${BODY}`);
      assert.equal(status, 400, 'a request that the lane would read');
    }
  });
});

describe('unfinished requests', { skip }, () => {
  for (const [kind, [start, end]] of Object.entries(KINDS)) {
    test(`do not fill the memory ${kind}, and others are answered all the while`, async (t) => {
      const held: Client[] = [];
      const url = await startSite(t, held);
      for (let n = 0; n <= HOW_MANY; n++) {
        held.push(new Client(url));
        await held[n]?.send(start);
      }
      // Which of them is too much depends on what the server has read of the others.
      await Promise.race(held.map((client) => client.readStatus()));
      const refused = held.find(({ received }) => received !== '') as Client;
      assert.match(refused.received, /^HTTP\/1\.1 429 .*Retry-After: 1\r\n.*"too_many_requests"/s);
      const body = `Content-Length: ${BODY.length}\r\n\r\n`;
      const parted = await exchange(url, `${HEAD}${body}${BODY.slice(0, 9)}`, BODY.slice(9));
      assert.equal(parted.status, 200, 'an ordinary request of the same address');
      const colleague = new Client(url, COLLEAGUE);
      held.push(colleague);
      await colleague.send(start + end);
      assert.equal(await colleague.readStatus(), '200', 'a large one of another');
      const kept = held.find(({ received }) => received === '') as Client;
      await kept.send(end);
      assert.equal(await kept.readStatus(), '200', 'one that is kept, when it is complete');
    });
  }

  test('count no longer when they are complete, given up or too large', async (t) => {
    const url = await startSite(t);
    const [start, end] = KINDS['of the lane'];
    for (let n = 0; n < HOW_MANY + 5; n++) {
      const { status } = await exchange(url, start, end);
      assert.equal(status, 200);
      const gone = new Client(url);
      await gone.send(start);
      gone.socket.destroy();
    }
    const large = ' '.repeat(HTTP_LIMITS.bodyBytes + 1);
    const { status } = await exchange(url, `${HEAD}Content-Length: ${large.length}\r\n\r\n${large}`);
    assert.equal(status, 413);
    const chunked = KINDS['of Node'];
    assert.equal((await exchange(url, chunked[0], chunked[1])).status, 200);
  });
});
