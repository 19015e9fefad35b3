import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { test } from 'node:test';
import { createBareHttp } from './bare-http.ts';
import { createBareNet } from './bare-net.ts';
import { recordAnswer } from './constant-answer.ts';

const BODY = JSON.stringify({ id: 1, product: 'cad', note: 'x'.repeat(1500) });
const HEAD = [
  'HTTP/1.1 200 OK',
  'Content-Type: application/json; charset=utf-8',
  'Cache-Control: no-store',
  "Content-Security-Policy: default-src 'none'",
  `X-Other: ${'y'.repeat(200)}`,
  'Date: Mon, 16 Nov 2026 08:22:13 GMT',
  'Connection: keep-alive',
  `Content-Length: ${BODY.length}`,
  ...['', ''],
].join('\r\n');

function post(body: string, ...headers: string[]): string {
  const lines = ['POST /api/v4/register HTTP/1.1', 'Host: berth', ...headers];
  return [...lines, `Content-Length: ${body.length}`, '', body].join('\r\n');
}

async function ask(server: Server, request: string) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await recordAnswer((server.address() as AddressInfo).port, request);
  } finally {
    server.close();
  }
}

for (const [name, create] of Object.entries({ 'node:http': createBareHttp, 'node:net': createBareNet })) {
  test(`bare ${name} sends the body it was given and as many bytes as the recorded answer`, async () => {
    const { head, body } = await ask(create({ head: HEAD, body: BODY }), post('{"product":"cad"}'));
    assert.match(head, /^HTTP\/1\.1 200 OK\r\n/);
    assert.equal(body, BODY);
    assert.equal(head.length, HEAD.length);
  });
}

test('bare node:net refuses everything but the plain form of a request', async () => {
  const odd = [
    post('{}', 'Transfer-Encoding: chunked'),
    post('{}', 'Content-Length: 2'),
    post('{}', 'X-Folded: a', ' b'),
    post('{}').replace('HTTP/1.1', 'HTTP/1.0'),
    post('{}').replace('Content-Length: 2', 'Content-Length: +2'),
  ];
  for (const request of odd) {
    const { head } = await ask(createBareNet({ head: HEAD, body: BODY }), request);
    assert.match(head, /^HTTP\/1\.1 400 /, JSON.stringify(request));
  }
});
