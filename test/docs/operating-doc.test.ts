import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { COMMANDS } from '../../packages/server/src/cli/commands/commands.ts';
import { envOf, fileVariableOf, flagOf } from '../../packages/server/src/config.ts';
import { SETTINGS } from '../../packages/server/src/settings.ts';

const TEXT = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');

describe('docs/operating.md', () => {
  for (const { path, default: value } of SETTINGS) {
    test(`has the setting ${path}, with its flag, its variable and its default`, () => {
      const words = Array.isArray(value) ? value : [value];
      const shown = words.filter((word) => word !== '').map((word) => `\`${word}\``);
      const row = `| \`${path}\` | \`--${flagOf(path)}\` | \`${envOf(path)}\` | ${shown.join(', ')}`;
      assert.ok(TEXT.includes(`\n${row}${row.endsWith(' ') ? '' : ' '}|\n`), row);
    });
  }

  test('has every variable that names the file of a secret', () => {
    const named = [...TEXT.matchAll(/^\| `(BERTH_\w+)` \| `(BERTH_\w+)`/gm)].map(([, , file]) => file);
    const settings = SETTINGS.map(fileVariableOf).filter((name) => name !== null);
    assert.deepEqual(
      named.sort(),
      [...settings, 'BERTH_MASTER_KEY_FILE', 'BERTH_WEBHOOKS_SECRET_FILE'].sort(),
    );
  });

  test('has no setting that there is not', () => {
    const named = [...TEXT.matchAll(/^\| `([\w.]+)` \| `--/gm)].map(([, path]) => path);
    assert.deepEqual(named.sort(), SETTINGS.map(({ path }) => path).sort());
  });

  test('has every command', () => {
    for (const { words } of COMMANDS) assert.ok(TEXT.includes(words), words);
  });
});
