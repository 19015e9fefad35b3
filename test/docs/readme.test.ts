import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ensureTool } from '../support/install-tools.ts';
import { startServerProcess, temporaryFolder } from '../support/server-process.ts';
import { readConsoleSteps, toPattern } from './console-blocks.ts';

const run = promisify(execFile);
const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

test('every command of the README prints what the README says', async (t) => {
  if (!(await ensureTool('curl', 'curl'))) return t.skip('optional: needs curl');
  const data = temporaryFolder(t);
  const server = await startServerProcess({ data, args: ['--demo'] });
  t.after(() => server.stop());
  const steps = readConsoleSteps(README);
  assert.ok(steps.length > 10);
  for (const { command, expected } of steps) {
    const local = command.replaceAll('http://127.0.0.1:8080', server.url);
    const env = { ...process.env, BERTH_DATA: data };
    const { stdout } = await run('bash', ['-c', local], { env });
    assert.match(stdout.trimEnd(), toPattern(expected), command);
  }
});

test('the pattern of a page is strict where the page is', () => {
  const pattern = toPattern('{"a":1,…"at":"2026-11-15T03:20:00.000Z"}');
  assert.match('{"a":1,"b":2,"at":"2027-01-01T00:00:00.000Z"}', pattern);
  assert.doesNotMatch('{"a":2,"b":2,"at":"2027-01-01T00:00:00.000Z"}', pattern);
  assert.doesNotMatch('{"a":1,"b":2,"at":"soon"}', pattern);
});
