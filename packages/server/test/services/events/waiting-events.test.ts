import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AuditPosition, endOfLink } from '../../../src/core/nouns/audit-position.ts';
import { type Page, type WaitingEvent, WaitingEvents } from '../../../src/services/events/waiting-events.ts';

const PAGE = 500;

/** A log in which every so many-th link has an event for the receiver. */
function openLog(links: number, every: number) {
  const log = { links, pages: 0 };
  const waiting = new WaitingEvents();
  const readPage = async ({ seq }: AuditPosition): Promise<Page> => {
    log.pages += 1;
    const last = Math.min(seq + PAGE, log.links);
    const numbers = Array.from({ length: last - seq }, (_, index) => seq + index + 1);
    const events = numbers.filter((n) => n % every === 0).map((n) => ({ position: { seq: n, index: 0 } }));
    return { events: events as WaitingEvent[], end: endOfLink(last), isFull: numbers.length >= PAGE };
  };
  const count = async (after: number, kinds = '') => {
    log.pages = 0;
    return { count: await waiting.count(endOfLink(after), kinds, readPage), pages: log.pages };
  };
  return { log, count };
}

describe('the events that wait', () => {
  test('are counted a part at a time if the log is long, and then kept', async () => {
    const { log, count } = openLog(25_000, 100);
    assert.deepEqual(await count(0), { count: 100, pages: 20 });
    assert.deepEqual(await count(0), { count: 200, pages: 20 });
    assert.deepEqual(await count(0), { count: 250, pages: 11 });
    assert.deepEqual(await count(0), { count: 250, pages: 1 });
    log.links += 100;
    assert.deepEqual(await count(0), { count: 251, pages: 1 });
  });

  test('are the same for several who ask at once', async () => {
    const { log, count } = openLog(3000, 10);
    const counts = await Promise.all([count(0), count(0), count(1000)]);
    assert.deepEqual(
      counts.map(({ count: found }) => found),
      [300, 300, 200],
    );
    log.links += 10;
    assert.equal((await count(1000)).count, 201);
    assert.equal((await count(0)).count, 301);
  });

  test('become fewer as the receiver takes them, and more if it is set back', async () => {
    const { count } = openLog(300, 1);
    assert.equal((await count(100)).count, 200);
    assert.equal((await count(250)).count, 50);
    assert.equal((await count(300)).count, 0);
    assert.equal((await count(90)).count, 210);
  });

  test('are counted anew when other events are told', async () => {
    const { count } = openLog(300, 1);
    assert.deepEqual(await count(0, 'slot_denied'), { count: 300, pages: 1 });
    assert.deepEqual(await count(0, 'slot_denied,license_expiring'), { count: 300, pages: 1 });
    assert.deepEqual(await count(300, 'slot_denied'), { count: 0, pages: 1 });
    assert.deepEqual(await count(299, 'slot_denied'), { count: 1, pages: 1 });
  });

  test('are counted up to a thousand', async () => {
    const { count } = openLog(5000, 1);
    assert.deepEqual(await count(0), { count: 1000, pages: 2 });
    assert.deepEqual(await count(0), { count: 1000, pages: 0 });
    assert.deepEqual(await count(4100), { count: 900, pages: 2 });
  });
});
