import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { COMMANDS } from '../../packages/server/src/cli/commands/commands.ts';

const TEXT = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');

test('docs/operating.md has every command', () => {
  for (const { words } of COMMANDS) assert.ok(TEXT.includes(words), words);
});
