import assert from 'node:assert/strict';
import { before, describe, type TestContext, test } from 'node:test';
import { ensureTool } from '../../support/install-tools.ts';
import { makeUpSeed } from '../../support/random.ts';
import { type DiskFault, runDiskFault } from './disk-errors.ts';

/** `npm run faults -- disk` lets each of the first forty syncs fail. */
const SYNC = { calls: 'fsync,fdatasync', error: 'EIO' } as const;
const WRITE = { calls: 'pwrite64', error: 'ENOSPC' } as const;

describe('a disk that fails', () => {
  let hasStrace = false;
  before(async () => {
    hasStrace = process.platform === 'linux' && (await ensureTool('strace'));
  });

  async function runFault(t: TestContext, fault: DiskFault, signal: NodeJS.Signals = 'SIGKILL') {
    const seed = makeUpSeed();
    t.diagnostic(`seed ${seed}`);
    const report = await runDiskFault(t, { fault, seed, signal });
    assert.deepEqual(report.violations, []);
    return report;
  }

  test('at start: the server says so and exits, and starts on a disk that works', async (t) => {
    if (!hasStrace) return t.skip('optional: needs strace');
    const { outcome } = await runFault(t, { ...SYNC, first: 2, count: 2 });
    assert.equal(outcome, 'did not start');
  });

  const passing: readonly [name: string, fault: DiskFault][] = [
    ['when it syncs', { ...SYNC, first: 8, count: 3 }],
    ['when it writes', { ...WRITE, first: 120, count: 3 }],
  ];
  for (const [name, fault] of passing) {
    test(`${name}: nothing is acknowledged that is not there, and the server recovers`, async (t) => {
      if (!hasStrace) return t.skip('optional: needs strace');
      const { outcome } = await runFault(t, fault);
      assert.equal(outcome, 'recovered');
    });
  }

  test('for good: the server says so, and can be stopped', async (t) => {
    if (!hasStrace) return t.skip('optional: needs strace');
    const { outcome } = await runFault(t, { ...SYNC, first: 10, count: null }, 'SIGTERM');
    assert.equal(outcome, 'stayed broken');
  });
});
