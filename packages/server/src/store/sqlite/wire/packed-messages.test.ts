import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Command } from '../../../core/command.ts';
import {
  borrow,
  consume,
  exampleFeatureSlot,
  exampleLicense,
  exampleSlot,
  NOW,
  register,
  unregister,
} from '../../../core/examples.ts';
import type { License } from '../../../core/nouns/license.ts';
import { type Measured, refuse } from '../../../core/outcome.ts';
import type { CommandResult } from '../../engine/execute.ts';
import { packCommands, unpackCommands } from './packed-commands.ts';
import { ResultPacker, ResultUnpacker } from './packed-results.ts';

/** As the other thread gets it. Fields that were left out may arrive as undefined. */
function carry(commands: readonly Command[]): unknown {
  return JSON.parse(JSON.stringify(unpackCommands(structuredClone(packCommands(commands)))));
}

describe('commands between threads', () => {
  test('arrive with all of their fields, in their order', () => {
    const by = { name: 'ada', address: '10.0.0.1' };
    const full = { by, credential: 'c', spelling: 'Ada' };
    const commands: Command[] = [
      register('ada'),
      register('ada', { ...full, perAddress: { slots: 1, borrows: 2 } }),
      borrow('ada', 'longest', full),
      unregister('ada'),
      unregister('ada', { ...full, by: 'server' }),
      consume(3),
      consume(4, {
        ...{ by, spelling: 'Ada', feature: 'export', user: 'ada' },
        narrowing: { allowOverages: true, maxOverages: 5 },
        idempotency: { key: 'k', bodyHash: 'h' },
      }),
      { kind: 'sign_heads' },
    ];
    assert.deepEqual(carry(commands), JSON.parse(JSON.stringify(commands)));
  });

  test('keep values that JSON cannot hold', () => {
    const odd = [register('\ud800\0'), register(10n as unknown as string)];
    const [half, big] = unpackCommands(structuredClone(packCommands(odd))) as [Command, Command];
    assert.equal('user' in half && half.user, '\ud800\0');
    assert.equal('user' in big && big.user, 10n);
  });
});

describe('results between threads', () => {
  const license = exampleLicense();
  const standing = { total: 1, features: [] };

  function grant(user: string, facts: object = {}): CommandResult {
    const registration = exampleSlot(user, { spelling: 'Ada' });
    return { outcome: { kind: 'granted', license, registration, inUse: 2, now: NOW, standing, ...facts } };
  }

  function measure(of: License, feature: License['features'][number] | null): CommandResult {
    const { consumption: limits } = feature ?? of;
    const slot = feature === null ? null : exampleFeatureSlot('ada');
    const counted = { licenseId: of.id, feature, limits, total: 9, inUse: 1, slot, now: NOW };
    return { outcome: { kind: 'measured', ...counted } satisfies Measured };
  }

  /** Both ends, and what the second makes of what the first sends. */
  function connect() {
    const packer = new ResultPacker((id) => (id === license.id ? license : undefined));
    const unpacker = new ResultUnpacker();
    return (results: readonly CommandResult[]) => unpacker.unpack(structuredClone(packer.pack(results)));
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
    ];
    assert.deepEqual(connect()(results), results);
  });

  test('an error keeps its message and where it came from', () => {
    const error = new Error('Too bad.');
    const [arrived] = connect()([{ error }]) as [{ error: Error }];
    assert.deepEqual([arrived.error.message, arrived.error.stack], [error.message, error.stack]);
  });

  test('share the license and the standing until they change, even within a batch', () => {
    const send = connect();
    const changed = exampleLicense({ slots: 9 });
    const later = { total: 2, features: [] };
    const outcomes = [
      ...send([
        grant('a'),
        grant('b', { license: changed }),
        grant('c', { license: changed, standing: later }),
      ]),
      ...send([grant('d', { license: changed, standing: later })]),
    ].map((result) => 'outcome' in result && result.outcome.kind === 'granted' && result.outcome);
    const [a, b, c, d] = outcomes.map((outcome) => outcome || assert.fail('not granted'));
    assert.deepEqual([a?.license.slots, b?.license.slots], [2, 9]);
    assert.equal(b?.license, d?.license);
    assert.equal(a?.standing, b?.standing);
    assert.deepEqual([c?.standing, c?.standing === d?.standing], [later, true]);
  });
});
