import assert from 'node:assert/strict';
import { NOW } from '../../core/examples.ts';
import { HOUR_MS, MINUTE_MS, plus } from '../../core/nouns/instant.ts';
import { licenseId } from '../../core/nouns/license.ts';
import { type Bench, codeOf, grantedOf, users } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;
const YEAR_MS = 365 * 24 * HOUR_MS;

/** The same cases for a store that was closed and for one that crashed. */
export function restartCases(again: 'restart' | 'crash') {
  return { ...prolongCases(again), ...keepCases(again) };
}

function prolongCases(again: 'restart' | 'crash') {
  return {
    'a live slot gets one full timeout, however long the store was away': async (bench: Bench) => {
      await bench.install();
      await bench.register('ada');
      bench.clock.advance(TIMEOUT_MS - 1);
      await bench.now();
      await bench[again](() => bench.clock.advance(3 * HOUR_MS));
      const now = plus(NOW, TIMEOUT_MS - 1 + 3 * HOUR_MS);
      assert.equal(await bench.now(), now);
      assert.equal((await bench.findSlot('ada'))?.endsAt, plus(now, TIMEOUT_MS));
      bench.clock.advance(TIMEOUT_MS - 1);
      assert.deepEqual(await bench.listUsers(), ['ada']);
      bench.clock.advance(1);
      assert.deepEqual(await bench.listUsers(), []);
    },

    'a slot that had ended stays ended, collected or not': async (bench: Bench) => {
      const license = await bench.install();
      await bench.register('ada');
      bench.clock.advance(1);
      await bench.register('bob');
      bench.clock.advance(TIMEOUT_MS - 1);
      await bench.now();
      await bench[again]();
      assert.deepEqual(await bench.listUsers(), ['bob']);
      assert.equal(codeOf(await bench.unregister('ada')), 'device_not_found');
      assert.equal(await bench.countInUse(license), 1);
    },

    'a full license stays full over restart after restart, and is free in time': async (bench: Bench) => {
      const license = await bench.install({ slots: 5 });
      for (const user of users(5)) await bench.register(user);
      for (let round = 0; round < 5; round++) {
        await bench[again](() => bench.clock.advance(YEAR_MS));
        assert.equal(codeOf(await bench.register('eve')), 'floating_not_available');
        assert.equal(await bench.countInUse(license), 5);
      }
      bench.clock.advance(TIMEOUT_MS);
      assert.equal(grantedOf(await bench.register('eve')).inUse, 1);
    },

    'borrows keep their date; one that ended meanwhile gets a timeout': async (bench: Bench) => {
      await bench.install({ slots: 3 });
      await bench.borrow('long', plus(NOW, 20 * HOUR_MS));
      await bench.borrow('short', plus(NOW, HOUR_MS));
      await bench[again](() => bench.clock.advance(2 * HOUR_MS));
      const now = plus(NOW, 2 * HOUR_MS);
      const [long, short] = [await bench.findSlot('long'), await bench.findSlot('short')];
      assert.deepEqual(
        [long?.borrowedUntil, long?.endsAt],
        [plus(NOW, 20 * HOUR_MS), plus(NOW, 20 * HOUR_MS)],
      );
      assert.deepEqual([short?.borrowedUntil, short?.endsAt], [plus(NOW, HOUR_MS), plus(now, TIMEOUT_MS)]);
      assert.equal((await bench.listLicenses())[0]?.borrowed, 1);
    },

    'nobody is given more than validity and grace': async (bench: Bench) => {
      const validUntil = plus(NOW, HOUR_MS);
      await bench.install({ validUntil });
      await bench.register('ada');
      await bench[again](() => bench.clock.advance(HOUR_MS - MINUTE_MS));
      assert.equal((await bench.findSlot('ada'))?.endsAt, validUntil);
      await bench[again](() => bench.clock.advance(HOUR_MS));
      assert.deepEqual(await bench.listUsers(), []);
    },
  };
}

function keepCases(again: 'restart' | 'crash') {
  return {
    'everything that was acknowledged is there': async (bench: Bench) => {
      await bench.install({ id: licenseId(2), slots: 2 });
      await bench.install({ id: licenseId(1), slots: 3 });
      await bench.register('ada');
      await bench.borrow('bob', 'longest');
      await bench.recall('bob');
      await bench.register('bob', { licenseId: licenseId(2) });
      const before = [
        await bench.listLicenses(),
        await bench.listSlots(),
        await bench.listEvents(licenseId(1)),
      ];
      const described = await bench.store.read({ kind: 'describe_store' });
      await bench[again]();
      const after = [
        await bench.listLicenses(),
        await bench.listSlots(),
        await bench.listEvents(licenseId(1)),
      ];
      assert.deepEqual(after, before);
      assert.deepEqual(await bench.store.read({ kind: 'describe_store' }), described);
      assert.equal(grantedOf(await bench.register('bob')).license.id, licenseId(2));
      assert.equal(grantedOf(await bench.register('eve')).license.id, licenseId(1), 'the newer one');
    },

    'denials go on being counted': async (bench: Bench) => {
      const license = await bench.install({ slots: 1 });
      await bench.borrow('ada', 'longest');
      await bench.register('bob');
      await bench[again]();
      await bench.register('bob');
      assert.equal((await bench.listEventsOf('slot_denied', license.id)).length, 1);
    },
  };
}

export function wallClockCases(again: 'restart' | 'crash') {
  return {
    'a wall clock set back an hour does not turn time back, nor make anything longer': async (
      bench: Bench,
    ) => {
      await bench.install();
      await bench.borrow('ada', plus(NOW, HOUR_MS));
      await bench.register('bob');
      await bench[again](() => bench.clock.setWall(plus(NOW, -HOUR_MS)));
      assert.equal(await bench.now(), NOW);
      assert.equal((await bench.findSlot('bob'))?.endsAt, plus(NOW, TIMEOUT_MS));
      const [jump] = await bench.listEventsOf('clock_jumped', 'system');
      assert.deepEqual([jump?.direction, jump?.followed], ['behind', false]);
      bench.clock.advance(TIMEOUT_MS);
      assert.deepEqual(await bench.listUsers(), ['ada']);
      bench.clock.advance(HOUR_MS - TIMEOUT_MS);
      assert.deepEqual(await bench.listUsers(), []);
    },

    'a wall clock a year ahead is followed and recorded; live slots get their timeout': async (
      bench: Bench,
    ) => {
      await bench.install();
      await bench.register('ada');
      const wall = plus(NOW, YEAR_MS);
      await bench[again](() => bench.clock.setWall(wall));
      assert.equal(await bench.now(), wall);
      assert.equal((await bench.findSlot('ada'))?.endsAt, plus(wall, TIMEOUT_MS));
      const [jump] = await bench.listEventsOf('clock_jumped', 'system');
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
