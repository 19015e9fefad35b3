import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { License } from '../../../../src/core/nouns/license.ts';
import { type Measured, refuse } from '../../../../src/core/outcome.ts';
import type { CommandResult } from '../../../../src/store/engine/execute.ts';
import {
  ResultReceiver,
  ResultSender,
  type SentResult,
} from '../../../../src/store/sqlite/threads/sent-results.ts';
import { exampleFeatureSlot, exampleLicense, exampleSlot, NOW } from '../../../core/examples.ts';

describe('results between threads', () => {
  const license = exampleLicense();
  const totals = { total: 1, features: [] };

  function grant(user: string, facts: object = {}): CommandResult {
    const registration = exampleSlot(user, { spelling: 'Ada', programs: 'p1\n' });
    return { outcome: { kind: 'granted', license, registration, inUse: 2, now: NOW, totals, ...facts } };
  }

  function measure(of: License, feature: License['features'][number] | null): CommandResult {
    const { consumption: limits } = feature ?? of;
    const slot = feature === null ? null : exampleFeatureSlot('ada');
    const counted = { licenseId: of.id, feature, limits, total: 9, inUse: 1, slot, now: NOW };
    return { outcome: { kind: 'measured', ...counted } satisfies Measured };
  }

  /** A slot of a feature. */
  function lent(of: License): CommandResult {
    const { outcome } = measure(of, of.features[1] ?? null) as { outcome: Measured };
    return { outcome: { ...outcome, holder: { license: of, endsAt: NOW } } };
  }

  /** Both ends, and what the second makes of what the first sends. */
  function connect() {
    const sender = new ResultSender();
    const receiver = new ResultReceiver();
    return (results: readonly CommandResult[]) => {
      const sent = results.map((result) => sender.send(result));
      return JSON.parse(JSON.stringify(sent)).map((result: SentResult) => receiver.receive(result));
    };
  }

  test('arrive complete, in their order', () => {
    const results: CommandResult[] = [
      grant('ada'),
      { outcome: { kind: 'done', count: 3 } },
      { outcome: refuse('device_not_found', 'No.', { left: 1 }) },
      measure(license, null),
      measure(license, license.features[1] ?? null),
      // An answer that was given before the license changed, or of one that was removed.
      measure(exampleLicense({ consumption: { ...license.consumption, max: 4 } }), null),
      measure(license, structuredClone(license.features[0]) ?? null),
      measure(exampleLicense({ id: 8 as License['id'] }), null),
      grant('bob', { registration: exampleSlot('bob') }),
      lent(license),
      lent(exampleLicense({ slots: 9 })),
    ];
    assert.deepEqual(connect()(results), results);
  });

  test('an error keeps its message and where it came from', () => {
    const error = new Error('Too bad.');
    const [arrived] = connect()([{ error }]) as [{ error: Error }];
    assert.deepEqual([arrived.error.message, arrived.error.stack], [error.message, error.stack]);
  });

  test('share the license and the totals until they change, even within a batch', () => {
    const send = connect();
    const changed = exampleLicense({ slots: 9 });
    const later = { total: 2, features: [] };
    const outcomes = [
      ...send([
        grant('a'),
        grant('b', { license: changed }),
        grant('c', { license: changed, totals: later }),
      ]),
      ...send([grant('d', { license: changed, totals: later })]),
    ].map((result) => 'outcome' in result && result.outcome.kind === 'granted' && result.outcome);
    const [a, b, c, d] = outcomes.map((outcome) => outcome || assert.fail('not granted'));
    assert.deepEqual([a?.license.slots, b?.license.slots], [2, 9]);
    assert.equal(b?.license, d?.license);
    assert.equal(a?.totals, b?.totals);
    assert.deepEqual([c?.totals, c?.totals === d?.totals], [later, true]);
  });
});
