import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RequestError } from '@berth/protocol/request-error';
import { openTestStore } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { createAuditTrail } from '../../../src/services/audit/audit-trail.ts';
import type { Store } from '../../../src/store/store.ts';

const isRefused = (error: unknown) => error instanceof RequestError && error.code === 'too_many_requests';

describe('exports of the audit log', () => {
  test('run two at a time, until one was read or cancelled or its reader has gone', async (t) => {
    const { store } = await openTestStore(t, [testLicense(1)]);
    const trail = createAuditTrail(store);
    const readers = Array.from({ length: 3 }, () => new AbortController());
    const open = (reader = 0, caller = `reader ${reader}`) => {
      const { signal } = readers[reader] as AbortController;
      return trail.export({ caller, hardwareId: 'here', dates: {} }, signal);
    };
    const first = await open();
    await assert.rejects(open(), isRefused, 'a caller has one');
    await open(1);
    await assert.rejects(open(2), isRefused);
    assert.match(await new Response(first).text(), /"type":"signature"/);
    const third = await open(2);
    await assert.rejects(open(), isRefused);
    await third.cancel();
    await third.cancel();
    await open(2);
    await assert.rejects(open(), isRefused, 'a place is given back once');
    readers[1]?.abort();
    await open();
    await assert.rejects(open(), isRefused);
  });
});

describe('checks of the audit log', () => {
  test('have at most eight waiting callers, and those who have gone make room', async (t) => {
    const { store } = await openTestStore(t);
    const slow = { ...store, read: untilGone } as unknown as Store;
    const trail = createAuditTrail(slow);
    const gone = Array.from({ length: 8 }, () => new AbortController());
    const verify = ({ signal } = new AbortController()) => trail.verify(signal);
    const waiting = gone.map((one) => verify(one));
    await assert.rejects(verify(), isRefused);
    for (const one of gone) one.abort();
    const ended = await Promise.allSettled(waiting);
    assert.ok(ended.every((one) => one.status === 'rejected' && one.reason.code === 'bad_request'));
    const last = new AbortController();
    const next = verify(last);
    last.abort();
    await assert.rejects(next, /disconnected/);
  });
});

/** A log that takes for ever to check. */
function untilGone(_: unknown, signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}
