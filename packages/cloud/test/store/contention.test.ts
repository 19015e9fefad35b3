import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { Contest } from '../../../../test/support/cloud/cloud-contender.ts';
import { createTestCloud, type TestCloud } from '../../../../test/support/cloud/test-cloud.ts';
import { listEvents } from '../../src/store/events.ts';
import { countDevices, loadTotals } from '../../src/store/execute.ts';
import { getLicense } from '../../src/store/licenses.ts';

const CONTENDER = new URL('../../../../test/support/cloud/cloud-contender.ts', import.meta.url);
const CONTENDERS = 4;
const ROUNDS = 25;

/** All open the file first, then start at the same time. Each returns the results it received. */
async function compete(contest: Omit<Contest, 'gate' | 'name'>): Promise<string[]> {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const workers = Array.from({ length: CONTENDERS }, (_, index) => {
    return new Worker(CONTENDER, { workerData: { ...contest, gate, name: `machine-${index}` } });
  });
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  const answers = workers.map(async (worker) => (await once(worker, 'message'))[0] as string[]);
  Atomics.store(gate, 0, 1);
  Atomics.notify(gate, 0);
  const told = (await Promise.all(answers)).flat();
  await Promise.all(workers.map((worker) => worker.terminate()));
  return told;
}

function placeOf({ path, now }: TestCloud) {
  return { file: join(path, 'cloud.db'), now };
}

function countOf(told: readonly string[], answer: string): number {
  return told.filter((one) => one === answer).length;
}

describe('several connections at once', () => {
  test('never activate a license too often', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant({ maxActivations: 10 });
    const told = await compete({ ...placeOf(cloud), key, rounds: ROUNDS, work: 'activate' });
    assert.equal(countOf(told, 'licensed'), 10);
    assert.equal(countOf(told, 'license_activated_max_times'), CONTENDERS * ROUNDS - 10);
    const license = getLicense(cloud.folder.store, key);
    assert.ok('id' in license);
    assert.equal(countDevices(cloud.folder.store, license.id), 10);
  });

  test('lose no count, and never pass the maximum', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant({ consumption: { max: 60 }, maxActivations: null });
    const told = await compete({ ...placeOf(cloud), key, rounds: ROUNDS, work: 'count' });
    assert.equal(countOf(told, 'counted'), 60);
    const license = getLicense(cloud.folder.store, key);
    assert.ok('id' in license);
    assert.equal(loadTotals(cloud.folder.store, license, cloud.now).get(''), 60);
  });

  test('count a report once, however many send it', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant({ consumption: { max: 1000 }, maxActivations: null });
    const told = await compete({ ...placeOf(cloud), key, rounds: ROUNDS, work: 'report' });
    assert.equal(countOf(told, 'counted'), CONTENDERS * ROUNDS);
    const license = getLicense(cloud.folder.store, key);
    assert.ok('id' in license);
    assert.equal(loadTotals(cloud.folder.store, license, cloud.now).get(''), ROUNDS);
    const events = listEvents(cloud.folder.store, license.id, 1000);
    assert.equal(events.filter(({ kind }) => kind === 'consumption_added').length, ROUNDS);
  });
});
