import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { startCloudHere } from '../support/cloud/cloud-process.ts';
import { readConsoleSteps, toPattern } from './console-blocks.ts';
import { runStep } from './run-step.ts';

const PAGE = readFileSync(new URL('../../docs/vendors.md', import.meta.url), 'utf8');

test('every command of the page for vendors prints what the page says', async (t) => {
  const cloud = await startCloudHere(t, { withKeys: false });
  const env = { ...process.env, LICENSING_CLOUD_DATA: cloud.data };
  const steps = readConsoleSteps(PAGE);
  assert.ok(steps.length >= 7);
  for (const { command, expected } of steps) {
    assert.match((await runStep(command, { env })).trimEnd(), toPattern(expected), command);
  }
});
