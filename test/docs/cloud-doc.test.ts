import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { cloudFolder } from '../support/test-cloud.ts';
import { readConsoleSteps, toPattern } from './console-blocks.ts';

const run = promisify(execFile);
const PAGE = readFileSync(new URL('../../docs/cloud.md', import.meta.url), 'utf8');

test('every command of the page about the cloud prints what the page says', async (t) => {
  const env = { ...process.env, LICENSING_CLOUD_DATA: cloudFolder(t) };
  const steps = readConsoleSteps(PAGE);
  assert.ok(steps.length >= 5);
  for (const { command, expected } of steps) {
    const { stdout } = await run('bash', ['-c', command], { env });
    assert.match(stdout.trimEnd(), toPattern(expected), command);
  }
});
