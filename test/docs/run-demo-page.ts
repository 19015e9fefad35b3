import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { ensureTool } from '../support/install-tools.ts';
import { startServerHere } from '../support/server-here.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { readConsoleSteps, toPattern } from './console-blocks.ts';
import { runStep } from './run-step.ts';

const ROOT = new URL('../../', import.meta.url);

/** Runs every ```console block of a page, in order, against a new server with the demo license. */
export async function runDemoPage(t: TestContext, page: string, { atLeast = 1 } = {}): Promise<void> {
  if (!(await ensureTool('curl'))) return t.skip('optional: needs curl');
  const data = temporaryFolder(t);
  const server = await startServerHere({ data, args: ['--demo'] });
  t.after(server.stop);
  const steps = readConsoleSteps(readFileSync(new URL(page, ROOT), 'utf8'));
  assert.ok(steps.length >= atLeast, `${page} has ${steps.length} commands`);
  for (const { command, expected } of steps) {
    const local = command.replaceAll('http://127.0.0.1:8080', server.url);
    const printed = await runStep(local, { env: { ...process.env, BERTH_DATA: data } });
    assert.match(printed.trimEnd(), toPattern(expected), command);
  }
}
