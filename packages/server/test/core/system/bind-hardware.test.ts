import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plus } from '../../../src/core/nouns/instant.ts';
import type { License } from '../../../src/core/nouns/license.ts';
import { bindHardware } from '../../../src/core/system/bind-hardware.ts';
import { exampleLicense, expectRefused, NOW } from '../examples.ts';

const license = exampleLicense();
const bound = { ...license, tie: { ...license.tie, hardwareId: 'home' } };

function bind(hardwareId: string, before: string | null) {
  const command = { kind: 'bind_hardware', hardwareId } as const;
  return bindHardware.decide(command, { licenses: [license, bound], hardwareId: before }, NOW);
}

test('the first machine is recorded silently', () => {
  const changes = [{ kind: 'set_hardware_id', hardwareId: 'home' }];
  assert.deepEqual(bind('home', null), { outcome: { kind: 'done', count: 0 }, changes, events: [] });
});

test('the same machine again changes nothing', () => {
  assert.deepEqual(bind('home', 'home'), { outcome: { kind: 'done', count: 0 }, changes: [], events: [] });
});

test('another machine is reported, and its licenses remember that they moved', () => {
  const moved = { ...bound, tie: { ...bound.tie, movedAt: NOW } };
  assert.deepEqual(bind('copy', 'home'), {
    outcome: { kind: 'done', count: 1 },
    changes: [
      { kind: 'set_hardware_id', hardwareId: 'copy' },
      { kind: 'put_tie', license: moved },
    ],
    events: [{ kind: 'identity_changed', before: 'home', hardwareId: 'copy' }],
  });
});

test('a license that is away remembers since when, until it is back', () => {
  const away = { ...bound, tie: { ...bound.tie, movedAt: plus(NOW, -5) } };
  const bindOn = (hardwareId: string) =>
    bindHardware.decide({ kind: 'bind_hardware', hardwareId }, { licenses: [away], hardwareId }, NOW).changes;
  assert.deepEqual(bindOn('copy'), []);
  assert.deepEqual(bindOn('home'), [{ kind: 'put_tie', license: bound }]);
});

test('a configured id is refused if a carried license has another', () => {
  const command = { kind: 'bind_hardware', hardwareId: 'chosen', isChosen: true } as const;
  const carried = { ...bound, source: 'offline' } as const;
  const { outcome, changes } = bindHardware.decide(command, { licenses: [carried], hardwareId: 'home' }, NOW);
  const { code, message } = expectRefused(outcome);
  assert.equal(code, 'server_identity_changed');
  assert.match(message, /internet under home\. Set hardwareId to home, or return/);
  assert.deepEqual(changes, []);
});

test('an id that the server made for itself is not replaced by a configured one, not even by itself', () => {
  const command = { kind: 'bind_hardware', hardwareId: 'home', isChosen: true } as const;
  const carried = { ...bound, source: 'airgap', tie: { ...bound.tie, isIdChosen: false } } as const;
  const decide = (facts: Partial<License>, chosen: boolean) => {
    const licenses = [{ ...carried, ...facts }];
    return bindHardware.decide({ ...command, isChosen: chosen }, { licenses, hardwareId: 'home' }, NOW)
      .outcome;
  };
  const { message } = expectRefused(decide({}, true));
  assert.match(message, /under an id that its server generated\. Start the server without hardwareId, or/);
  assert.equal(decide({}, false).kind, 'done');
  assert.equal(decide({ source: 'cloud' }, true).kind, 'done');
  assert.equal(decide({ tie: { ...carried.tie, isGivenBack: true } }, true).kind, 'done');
  assert.equal(decide({ tie: { ...carried.tie, hardwareId: null } }, true).kind, 'done');
  assert.equal(decide({ tie: { ...carried.tie, isIdChosen: true } }, true).kind, 'done');
});
