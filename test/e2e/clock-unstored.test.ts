import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { runBerth } from '../support/berth-command.ts';
import { makeFakedClock, YEAR_MS } from '../support/faked-clock.ts';
import { pollUntil } from '../support/poll.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';
import { testLicense } from '../support/test-license.ts';

/** A disk that takes no more, or one that works again: how large the server may make a file. */
function limitFileSize({ pid }: ServerUnderTest, bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`]);
}

async function readAccepted({ api }: ServerUnderTest): Promise<number> {
  return (await api.eventsAfter(0)).filter(({ kind }) => kind === 'clock_accepted').length;
}

test('a clock that was accepted on a failing disk is not followed', async (t) => {
  const clock = await makeFakedClock(t);
  if (clock === null) return t.skip('optional: needs libfaketime');
  if (spawnSync('prlimit', ['--version']).status !== 0) return t.skip('optional: needs prlimit');
  const server = await ServerUnderTest.start(t, { licenses: [testLicense(1)], env: clock.env });
  clock.set(YEAR_MS);
  await pollUntil('the jump is noticed', () => /jumped ahead/.test(server.log) || undefined);
  limitFileSize(server, 0);
  const failed = await runBerth(server.data, ['clock', 'accept', '--json']);
  assert.equal(failed.code, 1);
  assert.equal(JSON.parse(failed.stdout).code, 'store_unavailable');
  limitFileSize(server, 'unlimited');
  await pollUntil(
    'the server is healthy',
    async () => (await server.api.health()).status === 200 || undefined,
  );
  assert.equal((await server.api.clock()).jump?.direction, 'ahead');
  assert.equal(await readAccepted(server), 0);
  assert.equal((await runBerth(server.data, ['clock', 'accept'])).code, 0);
  assert.equal((await server.api.clock()).jump, null);
  assert.equal(await readAccepted(server), 1);
});
