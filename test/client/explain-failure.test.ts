import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NotSentError } from '../../packages/client/src/environment.ts';
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
