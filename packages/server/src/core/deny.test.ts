import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decide } from './decide.ts';
import { DENIAL_WINDOW_MS } from './deny.ts';
import { borrow, exampleLicense, exampleView, NOW, register } from './examples.ts';
import { type Instant, plus } from './instant.ts';
import type { Denial } from './view.ts';

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
    assert.deepEqual(events, [{ kind: 'slot_denied', user: 'ada', code: FULL, repeated: 0 }]);
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
    assert.deepEqual(events, [{ kind: 'slot_denied', user: 'ada', code: FULL, repeated: 3 }]);
  });

  test('each code has a window of its own', () => {
    const command = borrow('ada', 'unreadable');
    const view = exampleView({ license, denials: [denialOf()] }, 'ada');
    const { events } = decide(command, view, NOW);
    assert.deepEqual(
      events.map((event) => event.kind === 'slot_denied' && event.code),
      ['borrow_until_not_valid'],
    );
  });

  test('a window in the future, left by a clock that was reset, folds nothing', () => {
    assert.equal(denyAt(NOW, [denialOf({ deniedAt: plus(NOW, 1) })]).events.length, 1);
  });
});
