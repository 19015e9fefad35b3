import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { startServerProcess, temporaryFolder } from '../support/server-process.ts';
import { readConsoleSteps, toPattern } from './console-blocks.ts';

const run = promisify(execFile);
const PAGE = readFileSync(new URL('../../docs/install.md', import.meta.url), 'utf8');

test('the backup of a running server in docs/install.md can be checked and started', async (t) => {
  const folder = temporaryFolder(t);
  const data = join(folder, 'data');
  const backup = join(folder, 'backup');
  const server = await startServerProcess({ data, args: ['--demo'] });
  t.after(() => server.stop());
  const body = JSON.stringify({ product: 'demo', user: 'ada' });
  await fetch(`${server.url}/api/v4/borrow`, { method: 'POST', body });
  const steps = readConsoleSteps(PAGE);
  assert.ok(steps.length >= 5);
  for (const { command, expected } of steps) {
    const local = command.replaceAll('/var/lib/berth', data).replaceAll('/var/backups/berth', backup);
    const { stdout } = await run('bash', ['-c', local]);
    assert.match(stdout.trimEnd(), toPattern(expected), command);
  }
  await server.stop();
  const restored = await startServerProcess({ data: backup });
  t.after(() => restored.stop());
  const answer = await fetch(`${restored.url}/api/v4/borrow`, { method: 'POST', body });
  assert.equal(((await answer.json()) as { floating_slots_in_use: number }).floating_slots_in_use, 1);
});
