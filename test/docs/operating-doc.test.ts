import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { COMMANDS } from '../../packages/server/src/cli/commands/commands.ts';
import { runDemoPage } from './run-demo-page.ts';

const TEXT = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');

test('docs/operating.md has every command', () => {
  for (const { words } of COMMANDS) assert.ok(TEXT.includes(words), words);
});

test('every command of docs/operating.md prints what the page says', (t) =>
  runDemoPage(t, 'docs/operating.md', { atLeast: 6 }));
