import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAsserted, listFailures } from './say-failure.ts';

const OUTPUT = `  ✖ the total is exact (12.5ms)
ℹ fail 2

✖ failing tests:

test at test/some.test.ts:48:3
✖ the total is exact (12.5ms)
  AssertionError [ERR_ASSERTION]: Expected values to be strictly deep-equal:
  + actual - expected

    [
  +   146,
  -   117,
      0
    ]

      at TestContext.<anonymous> (file:///test/some.test.ts:50:12)
    generatedMessage: true,

test at test/some.test.ts:53:3
✖ nothing is lost (once) (0.5ms)
  Error: Property failed after 1 tests
      at buildError (file:///fast-check.js:2469:16) {
    [cause]: AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

    3 !== 4

        at run (file:///test/some.test.ts:57:12)
`;

test('what a failed test says begins with its message in one line', () => {
  const failures = listFailures(OUTPUT);
  assert.deepEqual(
    failures.map((failure) => failure.split('\n')[0]),
    ['the total is exact: + 146, - 117,', 'nothing is lost (once): 3 !== 4'],
  );
  assert.match(failures[0] ?? '', /generatedMessage/);
  assert.deepEqual(listFailures('no test has run'), []);
});

test('a fault that asserts has found something, and one that breaks has not', async () => {
  const { violations } = await findAsserted(async () => assert.fail('both use the slot'));
  assert.deepEqual(violations, ['both use the slot']);
  const broken = findAsserted(() => Promise.reject(new Error('no port')));
  await assert.rejects(broken, /no port/);
});
