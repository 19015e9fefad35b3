import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import { runBerth } from '../support/berth-command.ts';
import { pollUntil } from '../support/poll.ts';
import { BERTH } from '../support/program.ts';
import { startServerHere } from '../support/server-here.ts';
import { seedLicenses, startServerProcess, temporaryFolder } from '../support/server-process.ts';
import { startBefore } from '../support/start-before.ts';
import { testLicense } from '../support/test-license.ts';

let data: string;
let server: Awaited<ReturnType<typeof startServerHere>>;
startBefore(async (life) => {
  data = temporaryFolder(life);
  await seedLicenses(data, [testLicense(1)]);
  server = await startServerHere({ data });
  life.after(server.stop);
});

/** `berth events`, while it runs. */
function follow(t: TestContext, data: string, words: readonly string[]) {
  const child = spawn(BERTH.file, [...BERTH.args, 'events', '--data', data, ...words], { stdio: 'pipe' });
  t.after(() => child.kill('SIGKILL'));
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  const closed = once(child, 'close').then(([code]) => code as number);
  return { child, output, closed };
}

async function register(url: string, user: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  await fetch(`${url}/api/v4/register`, { method: 'POST', headers, body: JSON.stringify({ user }) });
}

describe('berth events', () => {
  test('prints what happens, as it happens, until Ctrl-C', async (t) => {
    const { child, output, closed } = follow(t, data, ['--after', '0']);
    await pollUntil('the past', () => output.stdout.includes('server_started') || undefined);
    await register(server.url, 'ann');
    await pollUntil('the present', () => output.stdout.includes('user=ann') || undefined);
    assert.match(output.stdout, /^\S+Z {2}1 {2}license_added {2}product=cad slots=5 by=test\n/);
    assert.match(output.stdout, /\n\S+Z {2}1 {2}slot_lent {2}user=ann by=client origin=127\.0\.0\.1\n$/);
    child.kill('SIGINT');
    assert.equal(await closed, 0);
    assert.equal(
      output.stderr,
      'Listening for events of all licenses and of the server after 0. Press Ctrl-C to stop.\n',
    );
  });

  test('prints one line of JSON per event, and ends after the requested number', async () => {
    const words = ['events', '--json', '--after', '0', '--limit', '2'];
    const { code, stdout } = await runBerth(data, words);
    assert.equal(code, 0);
    const kinds = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).kind);
    assert.deepEqual(kinds, ['license_added', 'account_created']);
    const rest = await runBerth(data, ['events', '--json', '--after', '1.0', '--limit', '1']);
    assert.equal(JSON.parse(rest.stdout).kind, 'account_created');
  });

  test('ends with 1 when the server stops, which does not wait for it', async (t) => {
    const stopped = temporaryFolder(t);
    await seedLicenses(stopped);
    const stopping = await startServerProcess({ data: stopped });
    t.after(() => stopping.stop('SIGKILL'));
    const { output, closed } = follow(t, stopped, ['--after', '0']);
    await pollUntil('it follows', () => output.stdout.includes('server_started') || undefined);
    assert.equal(await stopping.stop(), 0);
    assert.equal(await closed, 1);
    assert.match(output.stderr, /\nThe server is stopping and closed the stream\.\n$/);
  });

  test('of a stopped server says so, and ends with 1', async (t) => {
    const stopped = temporaryFolder(t);
    await seedLicenses(stopped, [testLicense(1)]);
    const { code, stdout, stderr } = await runBerth(stopped, ['events']);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, /^The server is stopped, .*"berth audit list --data /);
  });

  test('reports wrong flags', async () => {
    for (const [words, sentence] of [
      [['--limit', '0'], /^--limit must be a positive number\.\n$/],
      [['--after', 'yesterday'], /^"after" must be the id of an event/],
    ] as const) {
      const { code, stderr } = await runBerth(data, ['events', ...words]);
      assert.equal(code, 1);
      assert.match(stderr, sentence);
    }
  });
});
