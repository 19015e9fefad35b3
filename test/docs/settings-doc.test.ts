import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileVariableOf } from '../../packages/server/src/config.ts';
import { SETTINGS } from '../../packages/server/src/settings.ts';

const TEXT = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8');

describe('docs/settings.md', () => {
  test('has every variable that names the file of a secret', () => {
    const named = [...TEXT.matchAll(/^\| `(BERTH_\w+)` \| `(BERTH_\w+)`/gm)].map(([, , file]) => file);
    const settings = SETTINGS.map(fileVariableOf).filter((name) => name !== null);
    assert.deepEqual(
      named.sort(),
      [...settings, 'BERTH_MASTER_KEY_FILE', 'BERTH_WEBHOOKS_SECRET_FILE'].sort(),
    );
  });
});
