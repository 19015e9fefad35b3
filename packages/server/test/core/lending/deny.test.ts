import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decide } from '../../../src/core/decide.ts';
import { DENIAL_WINDOW_MS, PLACE_DENIALS, PLACE_WINDOW_MS } from '../../../src/core/lending/deny.ts';
import { type Instant, plus } from '../../../src/core/nouns/instant.ts';
import type { Denial, PlaceDenial } from '../../../src/core/view.ts';
import { borrow, exampleLicense, exampleView, from, NOW, register } from '../examples.ts';

const license = exampleLicense({ slots: 0 });
const FULL = 'floating_not_available';

function denialOf(facts: Partial<Denial> = {}): Denial {
  return { user: 'ada', feature: '', code: FULL, deniedAt: NOW, repeated: 0, ...facts };
}

function denyAt(now: Instant, denials: readonly Denial[]) {
  const decision = decide(register('ada'), exampleView({ license, denials }, 'ada', now), now);
  const [change] = decision.changes;
  return { denial: change?.kind === 'put_denial' ? change.denial : null, events: decision.events };
}

describe('denials leave a trace that cannot be flooded', () => {
  test('the first is an event at once', () => {
    const { denial, events } = denyAt(NOW, []);
    assert.deepEqual(denial, denialOf());
    assert.deepEqual(events, [
      { kind: 'slot_denied', user: 'ada', hostname: 'host-1', code: FULL, repeated: 0 },
    ]);
  });

  test('a repeat within the minute only raises the counter', () => {
    const { denial, events } = denyAt(plus(NOW, DENIAL_WINDOW_MS - 1), [denialOf({ repeated: 3 })]);
    assert.deepEqual(denial, denialOf({ repeated: 4 }));
    assert.deepEqual(events, []);
  });

  test('after the minute the next event carries the counter and opens a new window', () => {
    const later = plus(NOW, DENIAL_WINDOW_MS);
    const { denial, events } = denyAt(later, [denialOf({ repeated: 3 })]);
    assert.deepEqual(denial, denialOf({ deniedAt: later }));
    assert.deepEqual(events, [
      { kind: 'slot_denied', user: 'ada', hostname: 'host-1', code: FULL, repeated: 3 },
    ]);
  });

  test('each code has its own window', () => {
    const command = borrow('ada', 'unreadable');
    const view = exampleView({ license, denials: [denialOf()] }, 'ada');
    const { events } = decide(command, view, NOW);
    assert.deepEqual(
      events.map((event) => event.kind === 'slot_denied' && event.code),
      ['borrow_until_not_valid'],
    );
  });

  test('a window in the future, left by a clock that was reset, is ignored', () => {
    assert.equal(denyAt(NOW, [denialOf({ deniedAt: plus(NOW, 1) })]).events.length, 1);
  });
});

describe('denials of invented users leave a bounded trace', () => {
  const place = '192.0.2.7';
  const BUSY: PlaceDenial = { place, code: FULL, deniedAt: NOW, recorded: PLACE_DENIALS, repeated: 4 };

  function denyFrom(address: string, placeDenials: readonly PlaceDenial[], now: Instant = NOW) {
    const command = register('ada', from(address));
    const { changes, events } = decide(command, exampleView({ license, placeDenials }, 'ada', now), now);
    const put = changes.find(({ kind }) => kind === 'put_place_denial');
    return {
      placeDenial: put?.kind === 'put_place_denial' ? put.denial : null,
      hasRow: changes.some(({ kind }) => kind === 'put_denial'),
      events: events.map((event) => [event.kind, 'repeated' in event && event.repeated]),
    };
  }

  test('the first ones from a place are events', () => {
    const { placeDenial, hasRow, events } = denyFrom(place, []);
    assert.deepEqual(placeDenial, { ...BUSY, recorded: 1, repeated: 0 });
    assert.ok(hasRow);
    assert.deepEqual(events, [['slot_denied', 0]]);
    const last = denyFrom(place, [{ ...BUSY, recorded: PLACE_DENIALS - 1 }]);
    assert.deepEqual(last.placeDenial, BUSY);
    assert.deepEqual(last.events, [['slot_denied', 0]]);
  });

  test('beyond them only a counter grows, whatever the code', () => {
    const folded = denyFrom(place, [BUSY]);
    assert.deepEqual(folded, { placeDenial: { ...BUSY, repeated: 5 }, hasRow: false, events: [] });
    const other = denyFrom(place, [{ ...BUSY, code: 'blacklisted' }]);
    assert.deepEqual(other.placeDenial, { ...BUSY, recorded: 0, repeated: 1 });
    assert.deepEqual(other.events, []);
  });

  test('after the hour the next event carries the counter, and a new window opens', () => {
    const now = plus(NOW, PLACE_WINDOW_MS);
    const { placeDenial, events } = denyFrom(place, [BUSY], now);
    assert.deepEqual(placeDenial, { ...BUSY, deniedAt: now, recorded: 1, repeated: 0 });
    assert.deepEqual(events, [
      ['denials_repeated', 4],
      ['slot_denied', 0],
    ]);
  });

  test('the sweeper records the counter, and the window lasts until its end', () => {
    const sweep = (now: Instant) =>
      decide(
        { kind: 'collect', licenseId: license.id },
        exampleView({ license, stalePlaceDenials: [BUSY] }, null, now),
        now,
      );
    const early = sweep(plus(NOW, PLACE_WINDOW_MS - 1));
    assert.deepEqual(early.changes, [{ kind: 'put_place_denial', denial: { ...BUSY, repeated: 0 } }]);
    const by = { name: 'client', address: place };
    const carried = { kind: 'denials_repeated', user: null, code: FULL, repeated: 4, by };
    assert.deepEqual(early.events, [carried]);
    const late = sweep(plus(NOW, PLACE_WINDOW_MS));
    assert.deepEqual(late.changes, [{ kind: 'remove_place_denial', denial: BUSY }]);
    assert.deepEqual(late.events, [carried]);
  });

  test('a network of IPv6 is one place, and local requests have none', () => {
    assert.equal(denyFrom('2001:db8::1', []).placeDenial?.place, '2001:db8::');
    assert.equal(denyFrom('', []).placeDenial, null);
  });
});
