import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecordedEvent } from '../../../src/core/nouns/audit-event.ts';
import { type Instant, MINUTE_MS, plus, SECOND_MS } from '../../../src/core/nouns/instant.ts';
import { InOrder } from '../../../src/core/replay/in-order.ts';
import { NOW } from '../examples.ts';

const lent = (user: string) => ({ kind: 'slot_lent', user, hostname: null }) as RecordedEvent;
const borrowed = (user: string, borrowedUntil: Instant) =>
  ({ kind: 'slot_borrowed', user, borrowedUntil }) as RecordedEvent;
const expired = (user: string, endedAt: Instant) =>
  ({ kind: 'slot_expired', user, endedAt }) as RecordedEvent;

function take(order: InOrder, afterMs: number, ...events: RecordedEvent[]): string {
  return order
    .take({ chain: 1, at: plus(NOW, afterMs), events })
    .map(show)
    .join(' ');
}

function show({ at, event, borrowedUntil }: ReturnType<InOrder['end']>[number]): string {
  const user = 'user' in event ? event.user : '';
  return `${user}:${(at - NOW) / SECOND_MS}${borrowedUntil === null ? '' : '*'}`;
}

test('events are in the order in which they took effect, two minutes later', () => {
  const order = new InOrder();
  assert.equal(take(order, 0, lent('a')), '');
  assert.equal(take(order, MINUTE_MS, lent('b'), expired('c', plus(NOW, SECOND_MS))), '');
  assert.equal(take(order, 2 * MINUTE_MS, lent('d')), 'a:0');
  assert.equal(take(order, 2 * MINUTE_MS + 4 * SECOND_MS, lent('e')), '', 'not twice within five seconds');
  assert.equal(take(order, 2 * MINUTE_MS + 5 * SECOND_MS), 'c:1');
  assert.equal(order.end().map(show).join(' '), 'b:60 d:120 e:124');
  assert.deepEqual(order.end(), []);
});

test('a slot that is lent by a borrow is one event', () => {
  const order = new InOrder();
  const until = plus(NOW, MINUTE_MS);
  take(order, 0, lent('a'), borrowed('a', until), borrowed('b', until), lent('c'), borrowed('d', until));
  assert.equal(order.end().map(show).join(' '), 'a:0* b:0 c:0 d:0');
});
