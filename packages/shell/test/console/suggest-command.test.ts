import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findNearCommands } from '../../src/console/suggest-command.ts';

const COMMANDS = [
  'serve',
  'status',
  'clock',
  'clock accept',
  'clock reset',
  'license list',
  'license add',
  'license remove',
  'registration list',
  'registration release',
  'registration recall',
  'user list',
  'user add',
  'user password',
  'user remove',
  'token create',
  'token revoke',
  'key show',
  'key rotate',
  'key set',
  'key export',
  'key import',
  'report list',
  'audit export',
].map((words) => ({ words }));

const NOUNS = { start: 'serve', session: 'registration' };

/** What is typed, and what is meant. */
const MEANT: readonly (readonly [string, readonly string[]])[] = [
  ['stauts', ['status']],
  ['lisence lsit', ['license list']],
  ['licenses', ['license list']],
  ['license-list', ['license list']],
  ['LICENSE LIST', ['license list']],
  ['list licenses', ['license list']],
  ['clock acept', ['clock accept']],
  ['keys', ['key show']],
  ['sessions', ['registration list']],
  ['session kick', ['registration release', 'registration recall']],
  ['start', ['serve']],
  ['license delete', ['license remove']],
  ['license create', ['license add']],
  ['user rm', ['user remove']],
  ['rm user', ['user remove']],
  ['user passwd', ['user password']],
  ['token delete', ['token revoke']],
  ['token add', ['token create']],
  ['revoke', ['token revoke']],
  ['delete', ['license remove', 'user remove', 'token revoke', 'registration release']],
  ['revoke 3', ['token revoke']],
  ['release bob', ['registration release']],
  ['kick bob', ['registration release', 'registration recall']],
  ['reset', ['clock reset']],
  ['export', ['key export', 'audit export']],
  ['import', ['key import']],
  ['import file.json', ['key import']],
  ['passwd', ['user password']],
  ['passwd ann', ['user password']],
  ['key restore', ['key import']],
  ['clock foo', []],
  ['license foo', []],
  ['foo', []],
  ['foo bar', []],
];

for (const [typed, meant] of MEANT) {
  test(`"${typed}" is taken for ${meant.length === 0 ? 'nothing' : meant.join(', ')}`, () => {
    const near = findNearCommands(COMMANDS, typed.split(' '), NOUNS);
    assert.deepEqual(
      near.map(({ words }) => words),
      meant,
    );
  });
}
