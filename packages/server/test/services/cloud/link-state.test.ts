import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CloudFault, UNPROVEN } from '../../../src/cloud/cloud.ts';
import { instant } from '../../../src/core/nouns/instant.ts';
import { type KnownLink, LinkState } from '../../../src/services/cloud/link-state.ts';

function follow() {
  const news: KnownLink['state'][] = [];
  const clock = { now: 1000 };
  const state = new LinkState(
    () => instant(clock.now),
    (link) => news.push(link.state),
  );
  return { state, news, clock };
}

const AWAY = new CloudFault('unreachable', 'It is away.', { mayHaveArrived: false });
const OTHER = new CloudFault('timeout', 'It is slow.', { mayHaveArrived: true });

function refusal(code: string) {
  return { kind: 'refused', code, message: 'No.', ...UNPROVEN } as const;
}

describe('the state of the link', () => {
  test('is unknown before the first request', () => {
    assert.deepEqual(follow().state.describe(), {
      state: 'untried',
      reachedAt: null,
      failingAt: null,
      error: null,
      clockAheadMs: null,
    });
  });

  test('has the start of the failure, and the latest reason', () => {
    const { state, news, clock } = follow();
    state.noteReached(1);
    clock.now = 2000;
    state.noteFault(1, AWAY);
    clock.now = 3000;
    state.noteFault(1, AWAY);
    state.noteFault(1, OTHER);
    const { reachedAt, failingAt, error } = state.describe();
    assert.deepEqual([reachedAt, failingAt, error?.reason], [1000, 2000, 'timeout']);
    assert.equal(state.isFailing, true);
    assert.deepEqual(news, ['ok', 'failing', 'failing'], 'the same again is no news');
    state.noteReached(1);
    assert.deepEqual([state.isFailing, state.describe().failingAt], [false, null]);
  });

  for (const code of ['invalid_api_key', 'signature_mismatch', 'date_not_valid']) {
    test(`is "refused" when the cloud answers ${code}`, () => {
      const { state } = follow();
      state.noteRefusal(1, refusal(code));
      assert.deepEqual([state.describe().state, state.describe().error?.code], ['refused', code]);
    });
  }

  test('is good when the cloud refuses a license: it was reached', () => {
    const { state } = follow();
    state.noteRefusal(1, refusal('license_not_enabled'));
    assert.equal(state.describe().state, 'ok');
  });

  test('is failing as long as one license does, which is reported once', () => {
    const { state, news } = follow();
    for (let round = 0; round < 3; round++) {
      state.noteReached(1);
      state.noteFault(2, AWAY);
    }
    assert.deepEqual([state.describe().state, news], ['failing', ['ok', 'failing']]);
    state.drop(2);
    assert.deepEqual([state.describe().state, news], ['ok', ['ok', 'failing', 'ok']]);
  });

  test('forgets a failure of the link when any request succeeds', () => {
    const { state } = follow();
    state.noteFault(null, AWAY);
    state.noteReached(1);
    assert.equal(state.describe().state, 'ok');
  });

  test('is not changed by our own stop', () => {
    const { state } = follow();
    state.noteFault(1, new CloudFault('stopping', 'The server is stopping.', { mayHaveArrived: true }));
    assert.equal(state.describe().state, 'untried');
  });

  test('starts again with other keys', () => {
    const { state } = follow();
    state.noteRefusal(1, refusal('invalid_api_key'));
    state.forget();
    assert.deepEqual([state.describe().state, state.isFailing], ['untried', false]);
  });

  test('is not changed by errors of this server', () => {
    const { state } = follow();
    state.noteFault(1, new Error('a bug'));
    assert.equal(state.describe().state, 'untried');
  });
});
