import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { makeCertificate } from '../certificate.ts';
import { openSocket, readToEnd } from '../raw-socket.ts';
import { ANSWERED, callByFetch, openPair, PATH, SENT, SIGNATURE, testCallers } from './chaos-callers.ts';
import type { ChaosRequest, Fault } from './chaos-fault.ts';

function testFails(name: string, fault: Fault, targetSees: number): void {
  testCallers(`${fault.kind}: ${name}`, async (t, call) => {
    const { target, proxy, url } = await openPair(t, () => fault);
    await assert.rejects(call(url));
    assert.equal(target.seen.length, targetSees);
    const targetStatus = targetSees > 0 ? 200 : null;
    assert.deepEqual(proxy.requests, [{ method: 'POST', path: PATH, fault: fault.kind, targetStatus }]);
  });
}

describe('a plan', () => {
  test('chooses by the request', async (t) => {
    const asked: ChaosRequest[] = [];
    const { proxy, url } = await openPair(t, (chaosRequest) => {
      asked.push(chaosRequest);
      return chaosRequest.n === 1 ? { kind: 'status', code: 503 } : { kind: 'pass' };
    });
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await callByFetch(url)).status);
    assert.deepEqual(statuses, [200, 503, 200]);
    assert.deepEqual(asked[1], { n: 1, method: 'POST', path: PATH, body: SENT });
    assert.deepEqual(
      proxy.requests.map(({ fault }) => fault),
      ['pass', 'status', 'pass'],
    );
  });

  test('can be replaced', async (t) => {
    const { proxy, url } = await openPair(t);
    proxy.setPlan({ kind: 'status', code: 429 });
    assert.equal((await callByFetch(url)).status, 429);
    proxy.setPlan(() => ({ kind: 'pass' }));
    assert.equal((await callByFetch(url)).status, 200);
  });
});

describe('connections that end', () => {
  testFails('the target gets nothing', { kind: 'refuse' }, 0);
  testFails('the target gets nothing', { kind: 'reset' }, 0);
  testFails('the target gets nothing', { kind: 'cut_before' }, 0);
  testFails('the target has answered, the caller gets nothing', { kind: 'cut_after' }, 1);
  testFails('the caller gets one half', { kind: 'cut_within' }, 1);
  testFails('the caller gets something else', { kind: 'garbage' }, 0);

  for (const kind of ['refuse', 'reset'] as const) {
    testCallers(`${kind} as the whole plan reads nothing`, async (t, call) => {
      const { target, proxy, url } = await openPair(t, { kind });
      await assert.rejects(call(url));
      assert.equal(target.seen.length, 0);
      assert.deepEqual(proxy.requests, [{ method: '', path: '', fault: kind, targetStatus: null }]);
    });
  }

  test('a reset is a reset, a cut is a plain end', async (t) => {
    const ends = [];
    for (const kind of ['reset', 'cut_before', 'cut_after'] as const) {
      const { proxy } = await openPair(t, () => ({ kind }));
      const socket = openSocket(proxy.url);
      const { promise, resolve } = Promise.withResolvers<unknown>();
      socket
        .on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
        .on('end', () => resolve('end'));
      socket.resume().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      ends.push(await promise);
    }
    assert.deepEqual(ends, ['ECONNRESET', 'end', 'end']);
  });

  test('half an answer is its head, with the whole length, and half of its body', async (t) => {
    const { proxy } = await openPair(t, { kind: 'cut_within' });
    const socket = openSocket(proxy.url);
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const [head = '', body] = (await readToEnd(socket)).split('\r\n\r\n');
    const whole = Buffer.from(ANSWERED);
    assert.match(
      head,
      new RegExp(`^HTTP/1\\.1 200 Fine\r\n(?:.*\r\n)*Content-Length: ${whole.length}\r\n`, 'i'),
    );
    assert.equal(body, whole.subarray(0, whole.length / 2).toString('latin1'));
  });

  testCallers('cut_within of an empty answer is half a head', async (t, call) => {
    const { url } = await openPair(t, { kind: 'cut_within' }, (response) => response.end());
    await assert.rejects(call(url));
  });
});

describe('connections that wait', () => {
  testCallers('hang: nobody gets anything until the proxy is closed', async (t, call) => {
    const { target, proxy, url } = await openPair(t, () => ({ kind: 'hang' }));
    const failure = assert.rejects(call(url));
    await proxy.waitFor((requests) => requests.length === 1);
    await proxy.close();
    await failure;
    assert.equal(target.seen.length, 0);
  });

  testCallers('hang: the caller may give up', async (t, call) => {
    const { proxy, url } = await openPair(t, () => ({ kind: 'hang' }));
    const patience = new AbortController();
    const failure = assert.rejects(call(url, patience.signal), { name: 'AbortError' });
    await proxy.waitFor((requests) => requests.length === 1);
    patience.abort();
    await failure;
  });

  testCallers('hang_after: the target alone is done', async (t, call) => {
    const { target, proxy, url } = await openPair(t, () => ({ kind: 'hang_after' }));
    const failure = assert.rejects(call(url));
    await proxy.waitFor(([first]) => first?.targetStatus === 200);
    assert.equal(target.seen.length, 1);
    await proxy.close();
    await failure;
  });

  testCallers('delay: the target gets it when it is released', async (t, call) => {
    const { promise: untilReleased, resolve: release } = Promise.withResolvers<void>();
    const isFirst = ({ n }: ChaosRequest) => n === 0;
    const { target, proxy, url } = await openPair(t, (request) =>
      isFirst(request) ? { kind: 'delay', untilReleased } : { kind: 'pass' },
    );
    const late = call(url);
    await proxy.waitFor((requests) => requests.length === 1);
    await call(url);
    assert.deepEqual([target.seen.length, proxy.requests[0]?.targetStatus], [1, null]);
    release();
    assert.equal(await (await late).text(), ANSWERED);
    assert.equal(target.seen.length, 2);
  });

  testCallers('late: the target has answered before the caller gets the answer', async (t, call) => {
    const { promise: untilReleased, resolve: release } = Promise.withResolvers<void>();
    const { proxy, url } = await openPair(t, { kind: 'late', untilReleased });
    const calling = call(url);
    await proxy.waitFor(([first]) => first?.targetStatus === 200);
    release();
    assert.equal((await calling).status, 200);
  });

  test('delay: the target gets it even if the caller has gone', async (t) => {
    const { promise: untilReleased, resolve: release } = Promise.withResolvers<void>();
    const { target, proxy, url } = await openPair(t, { kind: 'delay', untilReleased });
    const patience = new AbortController();
    const failure = assert.rejects(callByFetch(url, patience.signal));
    await proxy.waitFor((requests) => requests.length === 1);
    patience.abort();
    await failure;
    release();
    await proxy.waitFor(([first]) => first?.targetStatus === 200);
    assert.equal(target.seen[0]?.body, SENT);
  });
});

describe('close', () => {
  test('ends callers, delays and targets that do not answer, and can be repeated', async (t) => {
    const { promise: untilReleased, resolve: release } = Promise.withResolvers<void>();
    const faults: Fault[] = [{ kind: 'hang' }, { kind: 'delay', untilReleased }, { kind: 'pass' }];
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<ServerResponse>();
    const plan = ({ n }: ChaosRequest) => faults[n] as Fault;
    const { target, proxy, url } = await openPair(t, plan, arrive);
    const failures = faults.map(() => assert.rejects(callByFetch(url)));
    const dropped = once(await arrived, 'close');
    await proxy.waitFor((requests) => requests.length === 3);
    await Promise.all([proxy.close(), proxy.close()]);
    await Promise.all([...failures, dropped]);
    release();
    await proxy.close();
    await assert.rejects(callByFetch(url));
    assert.equal(target.seen.length, 1);
  });

  test('ends callers that have sent nothing yet, and those that have not finished', async (t) => {
    const { proxy } = await openPair(t);
    const [silent, slow] = [openSocket(proxy.url).resume(), openSocket(proxy.url)];
    const ends = [silent, slow].map((socket) => {
      socket.on('error', () => {});
      return new Promise((resolve) => socket.once('close', resolve));
    });
    slow.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\nhalf');
    const [goOn] = await once(slow, 'data');
    assert.match(String(goOn), /^HTTP\/1\.1 100 /);
    await proxy.close();
    await Promise.all(ends);
    assert.deepEqual(proxy.requests, []);
  });

  test('ends an endless answer', async (t) => {
    const { proxy, url } = await openPair(t, { kind: 'huge' });
    const answer = await fetch(url);
    await proxy.close();
    assert.ok((await answer.text()).length < 64 * 1024 ** 2);
  });
});

describe('with TLS', () => {
  const notBefore = new Date('2000-01-01T00:00:00Z');
  const notAfter = new Date('2100-01-01T00:00:00Z');
  const tls = makeCertificate({ names: ['127.0.0.1'], notBefore, notAfter });
  setDefaultCACertificates([...getCACertificates('default'), tls.cert]);

  testCallers('requests pass', async (t, call) => {
    const { target, proxy, url } = await openPair(t, undefined, undefined, tls);
    assert.match(proxy.url, /^https:/);
    const answer = await call(url);
    assert.equal(answer.headers.get('LicenseSignature'), SIGNATURE);
    assert.equal(await answer.text(), ANSWERED);
    assert.equal(target.seen[0]?.body, SENT);
  });

  for (const kind of ['refuse', 'reset', 'cut_before', 'cut_after', 'cut_within', 'garbage'] as const) {
    testCallers(`${kind} fails`, async (t, call) => {
      const { proxy, url } = await openPair(t, () => ({ kind }), undefined, tls);
      await assert.rejects(call(url));
      assert.equal(proxy.requests[0]?.fault, kind);
    });
  }

  testCallers('hang ends with the proxy', async (t, call) => {
    const { proxy, url } = await openPair(t, { kind: 'hang' }, undefined, tls);
    const failure = assert.rejects(call(url));
    await proxy.waitFor((requests) => requests.length === 1);
    await proxy.close();
    await failure;
  });

  test('a reset is a reset', async (t) => {
    const { url } = await openPair(t, () => ({ kind: 'reset' }), undefined, tls);
    const reset = (error: Error) => (error.cause as NodeJS.ErrnoException).code === 'ECONNRESET';
    await assert.rejects(callByFetch(url), reset);
  });

  test('a caller that speaks no TLS gets nothing', async (t) => {
    const { proxy } = await openPair(t, undefined, undefined, tls);
    await assert.rejects(fetch(proxy.url.replace('https:', 'http:')));
    assert.deepEqual(proxy.requests, []);
  });
});
