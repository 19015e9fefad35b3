import assert from 'node:assert/strict';
import { HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import { NOW } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf, users } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;
const YEAR_MS = 365 * 24 * HOUR_MS;

/** The same cases for a store that was closed and for one that crashed. */
export function restartCases(again: 'restart' | 'crash') {
  return { ...prolongCases(again), ...keepCases(again) };
}

function prolongCases(again: 'restart' | 'crash') {
  return {
    'a live slot gets one full timeout, however long the store was down': async (exam: ExamStore) => {
      await exam.install();
      await exam.register('ada');
      exam.clock.advance(TIMEOUT_MS - 1);
      await exam.now();
      await exam[again](() => exam.clock.advance(3 * HOUR_MS));
      const now = plus(NOW, TIMEOUT_MS - 1 + 3 * HOUR_MS);
      assert.equal(await exam.now(), now);
      assert.equal((await exam.findSlot('ada'))?.endsAt, plus(now, TIMEOUT_MS));
      exam.clock.advance(TIMEOUT_MS - 1);
      assert.deepEqual(await exam.listUsers(), ['ada']);
      exam.clock.advance(1);
      assert.deepEqual(await exam.listUsers(), []);
    },

    'a slot that had ended stays ended, collected or not': async (exam: ExamStore) => {
      const license = await exam.install();
      await exam.register('ada');
      exam.clock.advance(1);
      await exam.register('bob');
      exam.clock.advance(TIMEOUT_MS - 1);
      await exam.now();
      await exam[again]();
      assert.deepEqual(await exam.listUsers(), ['bob']);
      assert.equal(codeOf(await exam.unregister('ada')), 'device_not_found');
      assert.equal(await exam.countInUse(license), 1);
    },

    'a full license stays full over restart after restart, and is free in time': async (exam: ExamStore) => {
      const license = await exam.install({ slots: 5 });
      for (const user of users(5)) await exam.register(user);
      for (let round = 0; round < 5; round++) {
        await exam[again](() => exam.clock.advance(YEAR_MS));
        assert.equal(codeOf(await exam.register('eve')), 'floating_not_available');
        assert.equal(await exam.countInUse(license), 5);
      }
      exam.clock.advance(TIMEOUT_MS);
      assert.equal(grantedOf(await exam.register('eve')).inUse, 1);
    },

    'borrows keep their date; one that ended meanwhile gets a timeout': async (exam: ExamStore) => {
      await exam.install({ slots: 3 });
      await exam.borrow('long', plus(NOW, 20 * HOUR_MS));
      await exam.borrow('short', plus(NOW, HOUR_MS));
      await exam[again](() => exam.clock.advance(2 * HOUR_MS));
      const now = plus(NOW, 2 * HOUR_MS);
      const [long, short] = [await exam.findSlot('long'), await exam.findSlot('short')];
      assert.deepEqual(
        [long?.borrowedUntil, long?.endsAt],
        [plus(NOW, 20 * HOUR_MS), plus(NOW, 20 * HOUR_MS)],
      );
      assert.deepEqual([short?.borrowedUntil, short?.endsAt], [plus(NOW, HOUR_MS), plus(now, TIMEOUT_MS)]);
      assert.equal((await exam.listLicenses())[0]?.borrowed, 1);
    },

    'nobody gets more than validity and grace': async (exam: ExamStore) => {
      const validUntil = plus(NOW, HOUR_MS);
      await exam.install({ validUntil });
      await exam.register('ada');
      await exam[again](() => exam.clock.advance(HOUR_MS - MINUTE_MS));
      assert.equal((await exam.findSlot('ada'))?.endsAt, validUntil);
      await exam[again](() => exam.clock.advance(HOUR_MS));
      assert.deepEqual(await exam.listUsers(), []);
    },
  };
}

function keepCases(again: 'restart' | 'crash') {
  return {
    'everything that was acknowledged is there': async (exam: ExamStore) => {
      await exam.install({ id: licenseId(2), slots: 2 });
      await exam.install({ id: licenseId(1), slots: 3 });
      await exam.register('ada');
      await exam.borrow('bob', 'longest');
      await exam.recall('bob');
      await exam.register('bob', { licenseId: licenseId(2) });
      const before = [await exam.listLicenses(), await exam.listSlots(), await exam.listEvents(licenseId(1))];
      const described = await exam.store.read({ kind: 'describe_store' });
      await exam[again]();
      const after = [await exam.listLicenses(), await exam.listSlots(), await exam.listEvents(licenseId(1))];
      assert.deepEqual(after, before);
      assert.deepEqual(await exam.store.read({ kind: 'describe_store' }), described);
      assert.equal(grantedOf(await exam.register('bob')).license.id, licenseId(2));
      assert.equal(grantedOf(await exam.register('eve')).license.id, licenseId(1), 'the newer one');
    },

    'denials continue to be counted': async (exam: ExamStore) => {
      const license = await exam.install({ slots: 1 });
      await exam.borrow('ada', 'longest');
      await exam.register('bob');
      await exam[again]();
      await exam.register('bob');
      assert.equal((await exam.listEventsOf('slot_denied', license.id)).length, 1);
    },
  };
}

export function wallClockCases(again: 'restart' | 'crash') {
  return {
    'a wall clock set back an hour does not turn time back, nor extend anything': async (exam: ExamStore) => {
      await exam.install();
      await exam.borrow('ada', plus(NOW, HOUR_MS));
      await exam.register('bob');
      await exam[again](() => exam.clock.setWall(plus(NOW, -HOUR_MS)));
      assert.equal(await exam.now(), NOW);
      assert.equal((await exam.findSlot('bob'))?.endsAt, plus(NOW, TIMEOUT_MS));
      const [jump] = await exam.listEventsOf('clock_jumped', 'system');
      assert.deepEqual([jump?.direction, jump?.followed], ['behind', false]);
      exam.clock.advance(TIMEOUT_MS);
      assert.deepEqual(await exam.listUsers(), ['ada']);
      exam.clock.advance(HOUR_MS - TIMEOUT_MS);
      assert.deepEqual(await exam.listUsers(), []);
    },

    'a wall clock a year ahead is followed and recorded; live slots get their timeout': async (
      exam: ExamStore,
    ) => {
      await exam.install();
      await exam.register('ada');
      const wall = plus(NOW, YEAR_MS);
      await exam[again](() => exam.clock.setWall(wall));
      assert.equal(await exam.now(), wall);
      assert.equal((await exam.findSlot('ada'))?.endsAt, plus(wall, TIMEOUT_MS));
      const [jump] = await exam.listEventsOf('clock_jumped', 'system');
      assert.deepEqual(jump, {
        kind: 'clock_jumped',
        direction: 'ahead',
        serverAt: NOW,
        wallAt: wall,
        followed: true,
      });
    },
  };
}
