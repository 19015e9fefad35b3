import assert from 'node:assert/strict';
import { DAY_MS, HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import { exampleLicense, NOW } from '../../core/examples.ts';
import { codeOf, type ExamStore } from './exam-store.ts';

const START = { kind: 'start_test_clock' } as const;
const ADVANCE = { kind: 'advance_test_clock', millis: 30 * DAY_MS } as const;
const REAL = { source: 'cloud' } as const;
const MADE_UP = { source: 'demo', slots: 2, maxBorrowHours: 30 * 24 } as const;

async function isForTests(exam: ExamStore): Promise<boolean> {
  return (await exam.store.read({ kind: 'describe_store' })).hasTestClock;
}

export const TEST_CLOCK = {
  'a test clock ends a borrow of thirty days at once': async (exam: ExamStore) => {
    await exam.execute(START);
    await exam.install(MADE_UP);
    await exam.borrow('ada', 'longest');
    await exam.execute({ ...ADVANCE, millis: ADVANCE.millis - 1 });
    assert.deepEqual(await exam.listUsers(), ['ada']);
    await exam.register('bob');
    await exam.execute({ ...ADVANCE, millis: HOUR_MS });
    assert.deepEqual(await exam.listUsers(), [], 'nobody gets time back: the server was not away');
    assert.equal(await exam.now(), plus(NOW, ADVANCE.millis - 1 + HOUR_MS));
    assert.deepEqual(exam.notices, [], 'it is no jump');
    assert.equal((await exam.listEventsOf('test_clock_started', 'system')).length, 1);
  },

  'there is a test clock only beside made-up licenses': async (exam: ExamStore) => {
    assert.equal(codeOf(await exam.execute(ADVANCE)), 'test_clock_off');
    await exam.install(REAL);
    assert.equal(codeOf(await exam.execute(START)), 'test_clock_off');
    assert.equal(await isForTests(exam), false);
    assert.equal(await exam.now(), NOW);
  },

  'and beside a test clock only made-up licenses': async (exam: ExamStore) => {
    await exam.execute(START);
    await exam.execute(START);
    const install = { kind: 'install_license', license: exampleLicense(REAL), by: 'admin' } as const;
    assert.equal(codeOf(await exam.execute(install)), 'test_clock_on');
    await exam.install(MADE_UP);
    assert.equal(codeOf(await exam.execute(install)), 'test_clock_on', 'not in its place either');
    assert.equal(await isForTests(exam), true);
  },
};

/** On a store of one server, its clock goes on. */
export const TEST_CLOCK_ALONE = {
  'a test clock goes on from where it is, also after a restart': async (exam: ExamStore) => {
    await exam.execute(START);
    await exam.install(MADE_UP);
    await exam.execute(ADVANCE);
    exam.clock.advance(HOUR_MS);
    assert.equal(await exam.now(), plus(NOW, ADVANCE.millis + HOUR_MS));
    await exam.restart();
    exam.clock.advance(HOUR_MS);
    assert.equal(await exam.now(), plus(NOW, ADVANCE.millis + 2 * HOUR_MS));
    assert.equal((await exam.store.keepClock()).jump, null);
    assert.deepEqual(exam.notices, []);
  },
};
