import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERROR_CODES, ERRORS } from '@berth/protocol/errors';
import { DeniedError } from '../../packages/client/src/errors.ts';

test('the client says of every code of the server whether to retry, and what to do', () => {
  for (const code of ERROR_CODES) {
    const { status, retryable, advice } = ERRORS[code];
    const error = new DeniedError(status, { code });
    assert.equal(error.isRetryable, retryable, code);
    assert.equal(error.advice, advice ?? 'See the table of errors in the documentation of the server.');
  }
});
