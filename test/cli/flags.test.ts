import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type FlagTable, listFlags } from '@berth/shell/console/command-flags';
import type { CommandUsage } from '@berth/shell/console/command-help';
import { FLAGS as CLOUD_FLAGS } from '../../packages/cloud/src/cli/command.ts';
import { ENTRIES as CLOUD_ENTRIES } from '../../packages/cloud/src/cli/usage.ts';
import { FLAGS } from '../../packages/server/src/cli/command.ts';
import { ENTRIES } from '../../packages/server/src/cli/usage.ts';
import { flagOf } from '../../packages/server/src/config.ts';
import { SETTINGS } from '../../packages/server/src/settings.ts';

/** What every command takes without saying so. */
const COMMON = ['help', 'version', 'json', 'config', ...SETTINGS.map(({ path }) => flagOf(path))];

const PROGRAMS: readonly (readonly [string, FlagTable, readonly CommandUsage[]])[] = [
  ['the server', FLAGS, ENTRIES],
  ['the cloud', CLOUD_FLAGS, CLOUD_ENTRIES],
];

for (const [program, table, entries] of PROGRAMS) {
  describe(`flags of ${program}`, () => {
    const usage = entries.map((entry) => `${entry.usage ?? ''} ${entry.otherFlags ?? ''}`).join(' ');
    const named = new Set(listFlags(usage));

    test('usages and the table name the same', () => {
      const inTable = new Set(Object.keys(table));
      assert.deepEqual(
        [...named.difference(inTable)].filter((flag) => !COMMON.includes(flag)),
        [],
      );
      assert.deepEqual(
        [...inTable.difference(named)].filter((flag) => !COMMON.includes(flag)),
        [],
      );
    });

    test('those that take a value show one', () => {
      for (const [flag, { type }] of Object.entries(table)) {
        if (!named.has(flag)) continue;
        const hasValue = new RegExp(`--${flag} [A-Za-z]`).test(usage);
        assert.equal(hasValue, type === 'string', flag);
      }
    });
  });
}
