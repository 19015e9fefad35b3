import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERRORS } from '@berth/protocol/errors';
import { ADVICE } from '../../packages/client/src/advice.ts';
import { DeniedError } from '../../packages/client/src/errors.ts';

/** Codes of the client itself. */
const OWN = [
  'unreachable',
  'slot_lost',
  'storage_failed',
  'slot_in_use_here',
  'no_borrow',
  'borrow_ended',
  'borrow_unreadable',
  'not_proven',
  'clock_set_back',
  'slot_released',
  'certificate_expired',
];

test('the client has advice for its own codes and those of the server', () => {
  const codes = Object.keys(ADVICE);
  assert.deepEqual(codes.slice(0, OWN.length).sort(), OWN.toSorted());
  for (const code of codes.slice(OWN.length)) {
    assert.ok(code in ERRORS, code);
    const { status, retryable } = ERRORS[code as keyof typeof ERRORS];
    assert.equal(new DeniedError(status, { code }).isRetryable, retryable, code);
  }
});
