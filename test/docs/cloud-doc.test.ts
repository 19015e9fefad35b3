import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { startCloudProcess } from '../support/cloud/cloud-process.ts';
import { ensureTool } from '../support/install-tools.ts';
import { startServerHere } from '../support/server-here.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { readConsoleSteps, toPattern } from './console-blocks.ts';
import { runStep } from './run-step.ts';

const PAGE = readFileSync(new URL('../../docs/cloud.md', import.meta.url), 'utf8');

test('every command of the page about the cloud prints what the page says', async (t) => {
  if (!(await ensureTool('curl', 'curl'))) return t.skip('optional: needs curl');
  const cloud = await startCloudProcess(t, { withKeys: false });
  const data = temporaryFolder(t);
  const link = ['--cloud-url', cloud.url, '--cloud-public-key', cloud.publicKeyFile];
  // The page is about what is asked for, not about what the background does.
  const quiet = ['--cloud-report-seconds', '3600'];
  const server = await startServerHere({ data, args: [...link, ...quiet] });
  t.after(server.stop);
  const env = { ...process.env, LICENSING_CLOUD_DATA: cloud.data, BERTH_DATA: data };
  const steps = readConsoleSteps(PAGE);
  assert.ok(steps.length >= 20);
  for (const { command, expected } of steps) {
    const local = command.replaceAll('http://127.0.0.1:8080', server.url);
    assert.match((await runStep(local, { env })).trimEnd(), toPattern(expected), command);
  }
});
