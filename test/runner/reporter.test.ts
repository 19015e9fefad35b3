import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import { temporaryFolder } from '../support/server-process.ts';
import { groupFiles } from './group-files.ts';
import { Ledger } from './ledger.ts';
import { reportCompactly } from './reporter.ts';

const ROOT = process.cwd();
const [SLOW, QUICK] = ['slow', 'quick'].map((name) => join(ROOT, 'test', `${name}.test.ts`)) as [
  string,
  string,
];

/** What the runner tells about a file with one test, when both have ended, and in the order of the files. */
function eventsOf(name: string, entryFile: string, error: Error | undefined) {
  const passed = error === undefined;
  const ofTests = Object.assign(new Error('of its tests'), { failureType: 'subtestsFailed' });
  const details = { duration_ms: 1500, type: 'suite', ...(passed ? {} : { error: ofTests }) };
  const [suite, inner] = [
    { name, file: entryFile, entryFile, nesting: 0, testId: 1, details },
    { name: 'it works', file: name, entryFile, nesting: 1, testId: 2, parentId: 1, line: 7 },
  ];
  const end = { ...inner, details: { ...details, type: 'test', ...(passed ? {} : { error }) } };
  const kind = passed ? 'test:pass' : 'test:fail';
  return {
    atOnce: [
      { type: 'test:complete', data: { ...end, details: { ...end.details, passed } } },
      { type: 'test:complete', data: { ...suite, details: { ...details, passed } } },
    ] as unknown as TestEvent[],
    inOrder: [
      { type: 'test:start', data: suite },
      { type: 'test:start', data: inner },
      { type: kind, data: end },
      { type: kind, data: suite },
    ] as unknown as TestEvent[],
  };
}

test('each file is named as soon as it has ended; details follow in the order of the files', async (t) => {
  const { entries, ungroup } = groupFiles([SLOW, QUICK], ROOT, temporaryFolder(t), undefined);
  const slow = eventsOf(SLOW, entries[0] as string, undefined);
  const quick = eventsOf(QUICK, entries[1] as string, new Error('it does not'));
  async function* tell() {
    yield* [...quick.atOnce, ...slow.atOnce, ...slow.inOrder, ...quick.inOrder];
  }
  const ledger = new Ledger({ skipsFail: false });
  const lines = (await Array.fromAsync(reportCompactly(ungroup(tell()), ledger, 2))).join('').split('\n');
  assert.deepEqual(lines.slice(0, 4), [
    '[1/2] FAIL test/quick.test.ts (1.5 s)',
    '[2/2] ok   test/slow.test.ts (1.5 s)',
    'FAIL it works',
    '    at test/quick.test.ts:7',
  ]);
  assert.deepEqual(lines.slice(-2), ['FAIL test/quick.test.ts: 0 passed, 1 failed (1.5 s)', '']);
});
