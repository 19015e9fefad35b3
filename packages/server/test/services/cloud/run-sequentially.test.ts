import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CloudFault } from '../../../src/cloud/cloud.ts';
import { runSequentially } from '../../../src/services/cloud/run-sequentially.ts';

const BROKEN = new CloudFault('broken_off', 'It broke off.', { mayHaveArrived: true });
const SLOW = new CloudFault('timeout', 'It is slow.', { mayHaveArrived: true });
const AWAY = new CloudFault('unreachable', 'It is away.', { mayHaveArrived: false });

async function follow(outcomes: readonly (Error | null)[]) {
  let asked = 0;
  const thrown = await runSequentially(outcomes, async (outcome) => {
    asked += 1;
    if (outcome !== null) throw outcome;
  }).then(
    () => null,
    (error: Error) => error,
  );
  return { asked, thrown };
}

describe('running requests one after the other', () => {
  test('runs every one', async () => {
    assert.deepEqual(await follow([null, null]), { asked: 2, thrown: null });
    assert.deepEqual(await follow([]), { asked: 0, thrown: null });
  });

  test('continues after a fault, and throws the first one at the end', async () => {
    assert.deepEqual(await follow([BROKEN, null, SLOW]), { asked: 3, thrown: BROKEN });
  });

  test('stops if the cloud cannot be reached, or on any other error', async () => {
    assert.deepEqual(await follow([BROKEN, AWAY, null]), { asked: 2, thrown: AWAY });
    const bug = new Error('A bug.');
    assert.deepEqual(await follow([bug, null]), { asked: 1, thrown: bug });
  });
});
