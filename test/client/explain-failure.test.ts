import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { NotSentError } from '../../packages/client/src/environment.ts';
import { acquire } from '../../packages/client/src/main.ts';
import { explainFailure, type Failure } from '../../packages/client/src/node/explain-failure.ts';

/** What `fetch` throws in Node 26, Bun 1.4 and Deno 2.9. */
function failure(message: string, facts: Partial<Failure> = {}): Failure {
  return Object.assign(new TypeError(message), facts);
}

test('a request that found no connection certainly did not arrive, whatever runs the program', () => {
  const refused = 'client error (Connect): tcp connect error: Connection refused (os error 111)';
  for (const error of [
    failure('fetch failed', { cause: failure('connect ECONNREFUSED', { code: 'ECONNREFUSED' }) }),
    failure('ECONNREFUSED: Unable to connect.', { code: 'ECONNREFUSED' }),
    failure('getaddrinfo ENOTFOUND berth.invalid', { code: 'ENOTFOUND' }),
    failure('fetch failed', { cause: failure(`error sending request for url: ${refused}`) }),
  ]) {
    assert.ok(explainFailure(error) instanceof NotSentError, error.message);
  }
});

test('any other may have arrived', () => {
  const lost = 'error sending request for url: client error (SendRequest): connection closed';
  for (const [error, reason] of [
    [failure('fetch failed', { cause: failure('other side closed', { code: 'ECONNRESET' }) }), 'ECONNRESET'],
    [failure('The socket connection was closed', { code: 'ECONNRESET' }), 'ECONNRESET'],
    [failure('fetch failed', { cause: failure(lost) }), lost],
    [failure('The operation was aborted due to timeout', { code: 23 }), /aborted due to timeout/],
  ] as const) {
    const explained = explainFailure(error);
    assert.ok(!(explained instanceof NotSentError), error.message);
    assert.ok(typeof reason === 'string' ? explained.message === reason : reason.test(explained.message));
  }
});

test('TLS that fails has advice of its own, and nothing was sent', () => {
  for (const [code, advice] of [
    ['ERR_SSL_WRONG_VERSION_NUMBER', /begin it with http:/],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', /NODE_EXTRA_CA_CERTS/],
    ['SELF_SIGNED_CERT_IN_CHAIN', /NODE_EXTRA_CA_CERTS/],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', /NODE_EXTRA_CA_CERTS/],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /NODE_EXTRA_CA_CERTS/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /name of the host/],
  ] as const) {
    const explained = explainFailure(failure('fetch failed', { cause: failure('TLS', { code }) }));
    assert.ok(explained instanceof NotSentError, code);
    assert.match((explained as { advice?: string }).advice ?? '', advice);
  }
  const closed = failure('fetch failed', { cause: failure('other side closed', { code: 'UND_ERR_SOCKET' }) });
  assert.ok(!(explainFailure(closed) instanceof NotSentError));
  assert.match((explainFailure(closed) as { advice?: string }).advice ?? '', /https:/);
});

test('a server without TLS is told apart from one that is away', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await assert.rejects(acquire({ server: url, product: 'demo' }), {
    code: 'unreachable',
    advice: /^There is no TLS at the address/,
  });
});
