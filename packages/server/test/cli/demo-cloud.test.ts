import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { stopChild } from '../../src/cli/demo-cloud.ts';

/** A process in place of the cloud. */
function start(t: { after(work: () => void): void }, code: string) {
  const child = spawn(process.execPath, ['-e', code], { stdio: ['pipe', 'ignore', 'ignore'] });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

test('a demo cloud that does not stop in time is killed, and a stopped one is not waited for', async (t) => {
  const child = start(t, 'setInterval(() => {}, 1e6)');
  await stopChild(child, 1);
  assert.equal(child.signalCode, 'SIGKILL');
  await stopChild(child);
});

test('a demo cloud that stops by itself is not killed', async (t) => {
  const child = start(t, 'process.stdin.resume()');
  await stopChild(child);
  assert.deepEqual([child.exitCode, child.signalCode], [0, null]);
});
