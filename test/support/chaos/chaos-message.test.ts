import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { describe, type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openSocket } from '../raw-socket.ts';
import {
  ANSWERED,
  type Call,
  callByFetch,
  HEADERS,
  openPair,
  PATH,
  SENT,
  SIGNATURE,
  testCallers,
  type Work,
} from './chaos-callers.ts';
import type { Fault } from './chaos-fault.ts';

function withoutConnection(rawHeaders: readonly string[]): string[] {
  const pairs = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1]}`] : []));
  return pairs.filter((pair) => !/^(?:connection|keep-alive):/i.test(pair));
}

/** Sends a request to the target directly, then through the proxy. */
async function compareWays(t: TestContext, method: string, body: string | undefined, work?: Work) {
  const { target, proxy } = await openPair(t, undefined, work);
  const headers = ['Host', 'cloud.example', 'Date', HEADERS.Date, 'AUTHorization', 'Basic a:b', 'x-a', '1'];
  const answers = [];
  for (const url of [target.url, proxy.url]) {
    const length = body === undefined ? [] : ['Content-Length', `${Buffer.byteLength(body)}`];
    const options = { method, headers: [...headers, ...length, 'x-A', '2'] };
    const [incoming] = await once(request(`${url}/p%20q?r=s&r`, options).end(body), 'response');
    const { statusCode, statusMessage, rawHeaders } = incoming;
    const bytes = Buffer.concat(await incoming.toArray());
    answers.push({ statusCode, statusMessage, headers: withoutConnection(rawHeaders), bytes });
  }
  const asked = target.seen.map((seen) => ({ ...seen, rawHeaders: withoutConnection(seen.rawHeaders) }));
  return { answers, asked };
}

describe('pass', () => {
  testCallers('the caller gets the answer, as often as it asks', async (t, call) => {
    const { target, proxy, url } = await openPair(t);
    for (let n = 0; n < 3; n++) {
      const answer = await call(url);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('licensesignature'), SIGNATURE);
      assert.equal(await answer.text(), ANSWERED);
    }
    assert.deepEqual(new Set(target.seen.map((seen) => seen.body)), new Set([SENT]));
    const seen = { method: 'POST', path: PATH, fault: 'pass', targetStatus: 200 };
    assert.deepEqual(proxy.requests, [seen, seen, seen]);
  });

  test('request and answer are the same with the proxy and without, byte for byte', async (t) => {
    const { answers, asked } = await compareWays(t, 'PUT', 'ä\n{');
    assert.deepEqual(answers[1], answers[0]);
    assert.deepEqual(asked[1], asked[0]);
    assert.deepEqual(asked[1]?.rawHeaders.slice(1, 3), [`Date: ${HEADERS.Date}`, 'AUTHorization: Basic a:b']);
    assert.equal(answers[1]?.statusMessage, 'Fine');
  });

  test('also answers without a body, to HEAD and with 204', async (t) => {
    const { 'Content-Length': _, ...unmeasured } = HEADERS;
    const cases = [
      { method: 'HEAD', status: 200, headers: HEADERS },
      { method: 'HEAD', status: 200, headers: unmeasured },
      { method: 'DELETE', status: 204, headers: unmeasured },
    ];
    for (const { method, status, headers } of cases) {
      const { answers, asked } = await compareWays(t, method, undefined, (response) => {
        response.writeHead(status, headers).end();
      });
      assert.deepEqual(answers[1], answers[0]);
      assert.deepEqual(asked[1], asked[0]);
    }
  });

  test('chunked and compressed bodies arrive complete', async (t) => {
    const bytes = gzipSync('x'.repeat(100_000));
    const { target, url } = await openPair(t, undefined, (response) => {
      response.writeHead(200, { 'Content-Encoding': 'gzip' });
      response.write(bytes.subarray(0, 5));
      response.end(bytes.subarray(5));
    });
    const outgoing = request(url, { method: 'POST' });
    outgoing.write('in ');
    outgoing.end('chunks');
    const [incoming] = await once(outgoing, 'response');
    assert.deepEqual(Buffer.concat(await incoming.toArray()), bytes);
    assert.equal(target.seen[0]?.body, 'in chunks');
  });

  test('a target that is down looks like a cut', async (t) => {
    const { target, proxy, url } = await openPair(t);
    target.server.close();
    await assert.rejects(callByFetch(url));
    assert.equal(proxy.requests[0]?.targetStatus, null);
  });

  test('so does one that dies during its answer', async (t) => {
    const { proxy, url } = await openPair(t, undefined, (response) => {
      response.writeHead(200, { 'Content-Length': 100 }).write('half');
      response.socket?.end();
    });
    await assert.rejects(callByFetch(url));
    assert.equal(proxy.requests[0]?.targetStatus, null);
  });
});

const MIB = 1024 ** 2;

async function callThrough(t: TestContext, call: Call, fault: Fault, work?: Work) {
  const { target, proxy, url } = await openPair(t, () => fault, work);
  const answer = await call(url);
  assert.equal(proxy.requests[0]?.fault, fault.kind);
  assert.equal(proxy.requests[0]?.targetStatus, target.seen.length === 0 ? null : 200);
  const { status, headers } = answer;
  return { status, headers, text: await answer.text(), asked: target.seen.map(({ body }) => body) };
}

describe('made-up answers', () => {
  testCallers('status: a page of a gateway', async (t, call) => {
    const { status, headers, text, asked } = await callThrough(t, call, { kind: 'status', code: 502 });
    assert.deepEqual([status, headers.get('content-type'), asked], [502, 'text/html', []]);
    assert.match(text, /^<html>.*502/);
  });

  testCallers('status: with a body and headers', async (t, call) => {
    const extra = { body: '{"status":429}', headers: { 'Retry-After': '7' } };
    const { status, headers, text } = await callThrough(t, call, { kind: 'status', code: 429, ...extra });
    assert.deepEqual([status, headers.get('retry-after'), text], [429, '7', extra.body]);
    assert.equal(headers.get('content-type'), 'application/json');
  });

  testCallers('redirect: to another place', async (t, call) => {
    const location = 'http://127.0.0.1:1/elsewhere';
    const { status, headers, asked } = await callThrough(t, call, { kind: 'redirect', location });
    assert.deepEqual([status, headers.get('location'), asked], [307, location, []]);
    assert.equal((await callThrough(t, call, { kind: 'redirect', location, code: 302 })).status, 302);
  });

  testCallers('garbage_body: JSON by its name only', async (t, call) => {
    const { status, headers, text, asked } = await callThrough(t, call, { kind: 'garbage_body' });
    assert.deepEqual([status, headers.get('content-type'), asked], [200, 'application/json', []]);
    assert.equal(headers.get('content-length'), '65');
    assert.throws(() => JSON.parse(text));
  });

  testCallers('wrong_json: another shape', async (t, call) => {
    const { status, text, asked } = await callThrough(t, call, { kind: 'wrong_json' });
    assert.deepEqual([status, asked, Array.isArray(JSON.parse(text))], [200, [], true]);
    assert.equal((await callThrough(t, call, { kind: 'wrong_json', body: null })).text, 'null');
  });

  testCallers('huge: 64 MiB that were not announced', async (t, call) => {
    const { status, headers, text, asked } = await callThrough(t, call, { kind: 'huge' });
    assert.deepEqual([status, headers.get('content-length'), asked], [200, null, []]);
    assert.equal(text.length, 64 * MIB);
  });

  testCallers('huge_declared: less than was announced', async (t, call) => {
    await assert.rejects(callThrough(t, call, { kind: 'huge_declared' }));
  });

  test('huge_declared: the head says 10 GiB', async (t) => {
    const { url } = await openPair(t, { kind: 'huge_declared' });
    const answer = await fetch(url);
    assert.equal(answer.headers.get('content-length'), String(10 * 1024 * MIB));
    await answer.body?.cancel();
  });
});

describe('changed answers', () => {
  testCallers('wrong_signature: by one character', async (t, call) => {
    const { headers, text, asked } = await callThrough(t, call, { kind: 'wrong_signature' });
    assert.equal(headers.get('LicenseSignature'), `A${SIGNATURE.slice(1)}`);
    assert.deepEqual([text, asked], [ANSWERED, [SENT]]);
  });

  test('wrong_signature: also of one that begins as the others end', async (t) => {
    const { headers } = await callThrough(t, callByFetch, { kind: 'wrong_signature' }, (response) => {
      response.writeHead(200, { licensesignature: 'AAAA' }).end();
    });
    assert.equal(headers.get('LicenseSignature'), 'BAAA');
  });

  testCallers('no_signature: the header alone is missing', async (t, call) => {
    const { headers, text, asked } = await callThrough(t, call, { kind: 'no_signature' });
    assert.equal(headers.get('LicenseSignature'), null);
    assert.equal(headers.get('x-odd-spelling'), 'kept');
    assert.deepEqual([text, asked], [ANSWERED, [SENT]]);
  });

  testCallers('changed_body: by one digit, under the same signature', async (t, call) => {
    const { headers, text, asked } = await callThrough(t, call, { kind: 'changed_body' });
    assert.equal(headers.get('LicenseSignature'), SIGNATURE);
    assert.deepEqual([text, asked], [ANSWERED.replace('49', '59'), [SENT]]);
  });

  test('changed_body: a digit of choice, and no zero in front', async (t) => {
    const after = '"limit":';
    const changed = await callThrough(t, callByFetch, { kind: 'changed_body', after });
    assert.equal(changed.text, ANSWERED.replace('90', '10'));
    const nowhere = await callThrough(t, callByFetch, { kind: 'changed_body', after: 'nowhere' });
    assert.equal(nowhere.text, ANSWERED);
  });

  testCallers('status_after: the target has answered something else', async (t, call) => {
    const { status, headers, asked } = await callThrough(t, call, { kind: 'status_after', code: 500 });
    assert.deepEqual([status, headers.get('LicenseSignature'), asked], [500, null, [SENT]]);
  });

  testCallers('drip: the same in the end', async (t, call) => {
    const { status, headers, text, asked } = await callThrough(t, call, { kind: 'drip' });
    assert.deepEqual([status, headers.get('LicenseSignature')], [200, SIGNATURE]);
    assert.deepEqual([text, asked], [ANSWERED, [SENT]]);
  });

  test('drip: in many pieces', async (t) => {
    const { proxy } = await openPair(t, { kind: 'drip' });
    const socket = openSocket(proxy.url);
    let pieces = 0;
    socket.on('data', () => pieces++).write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'end');
    assert.ok(pieces > 10, `${pieces} pieces`);
  });
});

describe('changed requests', () => {
  testCallers('duplicate: the target gets it twice, the caller its second answer', async (t, call) => {
    const { text, asked } = await callThrough(t, call, { kind: 'duplicate' }, (response, n) => {
      response.end(`answer ${n}`);
    });
    assert.deepEqual([text, asked], ['answer 2', [SENT, SENT]]);
  });

  testCallers('strip: without one key, and of the right length', async (t, call) => {
    const { text, asked } = await callThrough(t, call, { kind: 'strip', field: 'license_id' });
    assert.deepEqual([text, asked], [ANSWERED, ['{"value":1}']]);
  });

  test('strip: a request without the key is unchanged', async (t) => {
    const { target, url } = await openPair(t, { kind: 'strip', field: 'length' });
    const bodies = ['{ "a":1 }', '[1]', 'null', '"text"', '{'];
    for (const body of bodies) await fetch(url, { method: 'POST', body });
    assert.deepEqual(
      target.seen.map(({ body }) => body),
      bodies,
    );
  });
});
