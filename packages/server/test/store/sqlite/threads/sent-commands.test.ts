import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command, Register } from '../../../../src/core/command.ts';
import type { LicenseId } from '../../../../src/core/nouns/license.ts';
import { packCommand, unpackCommand } from '../../../../src/store/sqlite/threads/sent-commands.ts';

const TARGET = { product: 'cad', licenseId: 7 as LicenseId, user: 'ada' };
const HOST = { hostname: 'ws-1', address: '10.0.0.1', info: 'Debian' };

function cross(command: Command): Command {
  return unpackCommand(JSON.parse(JSON.stringify(packCommand(command))));
}

test('a command crosses with all that it has', () => {
  const spent = { limit: 3, retryAfterSeconds: 4 };
  const by = { name: 'client', address: '10.0.0.1' };
  const shown = { by, credential: 'token 1', spelling: 'Ada', instance: 'p1' };
  const whole: readonly Command[] = [
    { kind: 'register', ...TARGET, host: HOST, ...shown, spent, wait: { mode: 'stay', forMs: 5 } },
    { kind: 'borrow', ...TARGET, host: HOST, ...shown, spent, until: 'longest' },
    { kind: 'register', ...TARGET, host: HOST, ...shown, isDryRun: true },
    { kind: 'unregister', ...TARGET, ...shown },
  ];
  for (const command of whole) assert.deepEqual(cross(command), command);
});

test('what a register leaves out stays out', () => {
  const command = { kind: 'register', ...TARGET, host: HOST, by: 'control' } as const;
  const { credential, spelling, spent, instance, wait, ...rest } = cross(command) as Register;
  assert.deepEqual([credential, spelling, spent, instance, wait], Array(5).fill(undefined));
  assert.deepEqual(rest, command);
});
