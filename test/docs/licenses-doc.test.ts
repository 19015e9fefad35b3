import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCloudHere } from '../support/cloud/cloud-process.ts';
import { ensureTool } from '../support/install-tools.ts';
import { startServerHere } from '../support/server-here.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { readConsoleSteps, toAnyFolder, toPattern } from './console-blocks.ts';
import { enterFolder, runStep } from './run-step.ts';

const PAGE = readFileSync(new URL('../../docs/licenses.md', import.meta.url), 'utf8');
const [ONLINE = '', OFFLINE = ''] = PAGE.split('\n## Without internet\n');

test('the way online goes as the page says', async (t) => {
  if (!(await ensureTool('curl'))) return t.skip('optional: needs curl');
  const cloud = await startCloudHere(t, { withKeys: false });
  const data = temporaryFolder(t);
  const link = ['--cloud-url', cloud.url, '--cloud-public-key', cloud.publicKeyFile];
  // The page is about what is asked for, not about what the background does.
  const quiet = ['--cloud-report-seconds', '3600'];
  const server = await startServerHere({ data, args: [...link, ...quiet] });
  t.after(server.stop);
  const env = { ...process.env, LICENSING_CLOUD_DATA: cloud.data, BERTH_DATA: data };
  const steps = readConsoleSteps(ONLINE);
  assert.ok(steps.length >= 22);
  for (const { command, expected } of steps) {
    const local = command.replaceAll('http://127.0.0.1:8080', server.url);
    assert.match((await runStep(local, { env })).trimEnd(), toPattern(expected), command);
  }
});

/** The vendor and the server have no network between them: the server does not know where the vendor is. */
test('both ways without internet go as the page says', async (t) => {
  if (!(await ensureTool('curl'))) return t.skip('optional: needs curl');
  const cloud = await startCloudHere(t, { withKeys: false });
  await cloud.stop();
  const work = temporaryFolder(t);
  const data = join(work, 'data');
  const airgapKeyFile = join(work, 'airgap.key');
  writeFileSync(airgapKeyFile, (await cloud.runText('airgap-public-key')).trim());
  const keys = ['--cloud-public-key', cloud.publicKeyFile, '--airgap-public-key', airgapKeyFile];
  const server = await startServerHere({ data, args: keys });
  t.after(server.stop);
  enterFolder(t, work);
  const env = { ...process.env, LICENSING_CLOUD_DATA: cloud.data, BERTH_DATA: data };
  const steps = readConsoleSteps(OFFLINE);
  assert.ok(steps.length >= 25);
  for (const { command, expected } of steps) {
    const local = toAnyFolder(command).replaceAll('http://127.0.0.1:8080', server.url);
    // What is refused is told on standard error, and is part of the page.
    const printed = await runStep(local, { env, withErrors: true });
    assert.match(printed.trimEnd(), toPattern(expected), command);
  }
});
