import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { ERRORS, type ErrorCode } from '@berth/protocol/errors';
import { exchange, openSocket, type RawAnswer, readAnswerFrom, readToEnd } from '../support/raw-socket.ts';
import {
  type ServerProcess,
  seedLicenses,
  startServerProcess,
  temporaryFolder,
} from '../support/server-process.ts';

let server: ServerProcess;

after(() => server.stop('SIGKILL'));

const data = temporaryFolder({ after });

before(async () => {
  await seedLicenses(data);
  server = await startServerProcess({ data, args: ['--demo'] });
});

function assertProblem({ status, headers, text }: RawAnswer, code: ErrorCode): void {
  assert.equal(status, ERRORS[code].status, text);
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.equal(headers.get('cache-control'), 'no-store');
  const body = JSON.parse(text);
  assert.equal(body.status, status);
  assert.equal(body.code, code);
  assert.equal(typeof body.message, 'string');
}

async function assertLives(): Promise<void> {
  const { status } = await fetch(`${server.url}/api/v4/health`);
  assert.equal(status, 200);
}

function request(line: string, headers: readonly string[], body = ''): string {
  return `${[line, ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`;
}

const HOST = 'Host: 127.0.0.1';
const BODY = '{"user":"ann"}';
const USER = ['Content-Length: 14'];
const REGISTER = 'POST /api/v4/register HTTP/1.1';

/** Bytes that are no request of ours, and what is answered. */
const BROKEN: Readonly<Record<string, readonly [string, ErrorCode]>> = {
  'a TLS handshake': ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 'bad_request'],
  words: ['hello, is anybody there?\r\n\r\n', 'bad_request'],
  'HTTP/2': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'bad_request'],
  'an unknown method': [request('BREW / HTTP/1.1', [HOST]), 'not_implemented'],
  'a method in small letters': [request('get / HTTP/1.1', [HOST]), 'not_implemented'],
  'an unknown method in no request': ['BREW me some tea\r\n\r\n', 'bad_request'],
  CONNECT: [request('CONNECT example.com:443 HTTP/1.1', [HOST]), 'bad_request'],
  'oversized headers': [request('GET / HTTP/1.1', [HOST, `X: ${'a'.repeat(20_000)}`]), 'headers_too_large'],
  'an oversized URL': [request(`GET /${'a'.repeat(20_000)} HTTP/1.1`, [HOST]), 'headers_too_large'],
  'no Host': [request('GET / HTTP/1.1', []), 'bad_request'],
  'two Hosts': [request('GET /api/admin/status HTTP/1.1', [HOST, 'Host: evil.example']), 'bad_request'],
  'an invalid Host': [request('GET / HTTP/1.1', ['Host: a b/c']), 'bad_request'],
  'a header without a colon': [request('GET / HTTP/1.1', [HOST, 'what is this']), 'bad_request'],
  'a length that is not a number': [request(REGISTER, [HOST, 'Content-Length: ten']), 'bad_request'],
  'a negative length': [request(REGISTER, [HOST, 'Content-Length: -1']), 'bad_request'],
  'two lengths': [request(REGISTER, [HOST, 'Content-Length: 2', 'Content-Length: 3'], '{} '), 'bad_request'],
  'a length and chunks': [
    request(REGISTER, [HOST, 'Content-Length: 2', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
    'bad_request',
  ],
  'invalid chunks': [request(REGISTER, [HOST, 'Transfer-Encoding: chunked'], 'xyz\r\n'), 'bad_request'],
  'an unknown coding, in chunks': [
    request(REGISTER, [HOST, 'Transfer-Encoding: gzip, chunked'], '0\r\n\r\n'),
    'not_implemented',
  ],
  'an unknown coding without chunks': [request(REGISTER, [HOST, 'Transfer-Encoding: gzip']), 'bad_request'],
  'an unknown expectation': [request(REGISTER, [HOST, 'Expect: tea', ...USER], BODY), 'expectation_failed'],
  'a URL of another protocol': [request('GET ftp://example.com/ HTTP/1.1', [HOST]), 'bad_request'],
  'an asterisk': [request('OPTIONS * HTTP/1.1', [HOST]), 'bad_request'],
  TRACE: [request('TRACE / HTTP/1.1', [HOST]), 'method_not_allowed'],
  'an unknown path with an odd escape': [request('GET /%zz%00 HTTP/1.1', [HOST]), 'not_found'],
};

describe('an invalid request is answered in JSON', () => {
  for (const [what, [bytes, code]] of Object.entries(BROKEN)) {
    test(what, async () => {
      assertProblem(await exchange(server.url, Buffer.from(bytes, 'latin1')), code);
      await assertLives();
    });
  }
});

describe('an unusual but valid request is answered', () => {
  const odd: Readonly<Record<string, string>> = {
    'HTTP/1.0 without a Host': request('GET / HTTP/1.0', []),
    'an empty expectation': request(REGISTER, [HOST, 'Expect:', ...USER], BODY),
    'an expectation in HTTP/1.0': request('GET / HTTP/1.0', ['Expect: tea']),
    'chunks in capitals': request(
      REGISTER,
      [HOST, 'Transfer-Encoding: Chunked'],
      `e\r\n${BODY}\r\n0\r\n\r\n`,
    ),
    'an absolute URL': request('GET http://127.0.0.1/ HTTP/1.1', [HOST]),
    'an upgrade that is not supported':
      'GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
  };

  for (const [what, bytes] of Object.entries(odd)) {
    test(what, async () => {
      const { status, text } = await exchange(server.url, bytes);
      assert.equal(status, 200);
      assert.doesNotThrow(() => JSON.parse(text));
    });
  }
});

describe('who can administer over a real connection', () => {
  const headers: Readonly<Record<string, readonly string[]>> = {
    'a forwarded request': ['X-Forwarded-For: 203.0.113.9'],
    'a page in a browser': ['Origin: http://127.0.0.1'],
    'wrong credentials': ['Authorization: Bearer undefined'],
  };

  test('a user on this machine, during setup', async () => {
    const { status } = await exchange(server.url, request('GET /api/admin/status HTTP/1.1', [HOST]));
    assert.equal(status, 200);
  });

  for (const [who, lines] of Object.entries(headers)) {
    test(`not ${who}`, async () => {
      const bytes = request('GET /api/admin/status HTTP/1.1', [HOST, ...lines]);
      assertProblem(await exchange(server.url, bytes), 'unauthorized');
    });
  }
});

describe('a body that is too large', () => {
  const large = Buffer.alloc(100_000, ' ');
  const huge = Buffer.alloc(3 * 1024 * 1024, ' ');

  for (const body of [large, huge]) {
    test(`${body.length} bytes, declared`, async () => {
      const head = request(REGISTER, [HOST, `Content-Length: ${body.length}`]);
      assertProblem(await exchange(server.url, head, body), 'payload_too_large');
    });

    test(`${body.length} bytes in a chunk`, async () => {
      const head = request(REGISTER, [HOST, 'Transfer-Encoding: chunked']);
      const chunk = [`${body.length.toString(16)}\r\n`, body, '\r\n0\r\n\r\n'];
      assertProblem(await exchange(server.url, head, ...chunk), 'payload_too_large');
    });

    test(`${body.length} bytes from an ordinary client`, async () => {
      const answer = await fetch(`${server.url}/api/v4/register`, { method: 'POST', body });
      const { status, headers } = answer;
      assertProblem({ status, headers, text: await answer.text() }, 'payload_too_large');
    });
  }
});

test('the next request on a connection is answered after a body that was too large', async () => {
  const body = Buffer.alloc(5 * 1024 * 1024, ' ');
  const socket = openSocket(server.url);
  socket.write(`${REGISTER}\r\n${HOST}\r\nContent-Length: ${body.length}\r\n\r\n`);
  socket.write(body);
  socket.write(request('GET /api/v4/health HTTP/1.1', [HOST]));
  const received = await readToEnd(socket);
  const statuses = Array.from(received.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status);
  assert.deepEqual(statuses, ['413', '200']);
});

test('while nested brackets pour in, everybody else is answered', async () => {
  const body = '['.repeat(60_000);
  const flood = { isOver: false, answers: 0 };
  async function pour(): Promise<void> {
    while (!flood.isOver) {
      const { status } = await fetch(`${server.url}/api/v4/register`, { method: 'POST', body });
      assert.equal(status, 400);
      flood.answers += 1;
    }
  }
  const pouring = Array.from({ length: 8 }, pour);
  for (let count = 0; count < 20; count++) {
    const user = JSON.stringify({ user: `user-${count % 4}` });
    const { status } = await fetch(`${server.url}/api/v4/register`, { method: 'POST', body: user });
    assert.equal(status, 200);
  }
  flood.isOver = true;
  await Promise.all(pouring);
  assert.ok(flood.answers >= pouring.length);
});

describe('a client that goes away', () => {
  test('in the middle of its body is told so, if it still listens', async () => {
    const socket = openSocket(server.url);
    socket.end('POST /api/v4/register HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"us');
    assertProblem(await readAnswerFrom(socket), 'bad_request');
  });

  test('silently is forgotten', async () => {
    const heads = ['', 'GET', 'POST /api/v4/register HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{'];
    for (const head of [...heads, 'POST /auth HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n']) {
      const socket = openSocket(server.url);
      await once(socket, 'connect');
      if (head !== '') await new Promise((resolve) => socket.write(head, resolve));
      socket.resetAndDestroy();
      await once(socket, 'close');
    }
    await assertLives();
  });
});

test('nothing of all this was a bug, and the server stops cleanly', async () => {
  const closed = once(server.child, 'close');
  assert.equal(await server.stop(), 0);
  await closed;
  assert.doesNotMatch(server.readLog(), /"level":"error"|"msg":"bug"|\n {4}at /);
  assert.match(server.readLog(), /"msg":"stopped"/);
});
