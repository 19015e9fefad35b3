import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitFigures } from '../../../src/core/history/wait-figures.ts';

test('waits that ended with a slot, and those that did not', () => {
  const waits = [
    { seconds: 1, served: 5, unserved: 0 },
    { seconds: 2, served: 4, unserved: 1 },
    { seconds: 9, served: 1, unserved: 2 },
    { seconds: 60, served: 0, unserved: 0 },
  ];
  assert.deepEqual(waitFigures(waits), {
    served: 10,
    medianMs: 1000,
    p90Ms: 2000,
    longestMs: 9000,
    unserved: 3,
    unservedMedianMs: 9000,
    unservedLongestMs: 9000,
  });
});

test('no waits have no length', () => {
  const none = {
    medianMs: null,
    p90Ms: null,
    longestMs: null,
    unservedMedianMs: null,
    unservedLongestMs: null,
  };
  assert.deepEqual(waitFigures([]), { served: 0, unserved: 0, ...none });
  assert.deepEqual(waitFigures([{ seconds: 1, served: 0, unserved: 0 }]), {
    served: 0,
    unserved: 0,
    ...none,
  });
});
