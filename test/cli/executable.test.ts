import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { readArchived } from '../../bin/origin.ts';
import { PROJECT } from '../support/clone.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { startBefore } from '../support/start-before.ts';

const skip =
  (process.platform !== 'linux' && 'the libraries of Linux') ||
  (process.getuid?.() !== 0 && 'chroot needs root');

/** Options for Node would let others run code in the executable. `PATH` is for chroot. */
const ENV = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', NODE_OPTIONS: '--no-such-option' };

/** The processes that run a program. */
function findProcesses(program: string): readonly string[] {
  return readdirSync('/proc').filter((id) => {
    try {
      return /^\d+$/.test(id) && readlinkSync(`/proc/${id}/exe`) === program;
    } catch {
      return false;
    }
  });
}

/** The executable in a root folder with nothing else but the libraries that it names. */
describe('the executable, without Node or any other file', { skip }, () => {
  let root = '';
  let life: { after(end: () => unknown): void };

  startBefore(async (all) => {
    life = all;
    root = temporaryFolder(life, { hasPrograms: true });
    const opt = join(root, 'opt');
    const words = [join(PROJECT, 'build', 'executable.ts'), '--out', opt];
    execFileSync(process.execPath, words, { stdio: 'ignore' });
    const libraries = execFileSync('ldd', [join(opt, 'berth')], { encoding: 'utf8' });
    for (const [, library = ''] of libraries.matchAll(/(\/\S+) \(0x/g)) {
      mkdirSync(join(root, dirname(library)), { recursive: true });
      copyFileSync(library, join(root, library));
    }
  });

  async function serve(...words: string[]): Promise<{ child: ChildProcess; url: string }> {
    const args = [root, '/opt/berth', 'serve', '--port', '0', '--log-level', 'error', ...words];
    const child = spawn('chroot', args, { env: ENV, stdio: ['ignore', 'pipe', 'ignore'] });
    life.after(() => child.kill('SIGKILL'));
    const line = once(createInterface({ input: child.stdout }), 'line');
    const first = await Promise.race([line, once(child, 'exit').then(() => null)]);
    assert.ok(first !== null, 'It ended before it was ready.');
    return { child, url: String(first[0]).replace('berth listening on ', '') };
  }

  async function stop(child: ChildProcess): Promise<unknown> {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    return (await exited)[0];
  }

  const berth = (...words: string[]) =>
    spawnSync('chroot', [root, '/opt/berth', ...words], { env: ENV, encoding: 'utf8' });

  test('says of which commit it is, and of which day', () => {
    const git = (...words: string[]) => spawnSync('git', words, { cwd: PROJECT, encoding: 'utf8' }).stdout;
    const archived = readArchived(PROJECT);
    const [commit = '', seconds] = archived
      ? [archived.commit, archived.epoch]
      : git('log', '-1', '--format=%H %ct').split(' ');
    const date = new Date(Number(seconds) * 1000).toISOString().slice(0, 10);
    const origin = { commit: commit.slice(0, 8), date };
    assert.equal(berth('--version').stdout, `berth 0.1.0 (${origin.commit}, ${date})\n`);
    assert.equal(berth('cloud', '--version').stdout, `cloud 0.1.0 (${origin.commit}, ${date})\n`);
    const version = git('tag', '--points-at', 'HEAD') === '' ? `0.1.0+${origin.commit}` : '0.1.0';
    assert.deepEqual(JSON.parse(berth('version', '--json').stdout), { version, ...origin });
  });

  test('serves the demo with a cloud, keeps its data beside itself, and stops in order', async () => {
    const first = await serve('--demo-cloud');
    // It outlives a terminal that it does not use.
    first.child.kill('SIGHUP');
    const body = JSON.stringify({ product: 'demo', user: 'ada' });
    const answer = await fetch(`${first.url}/api/v4/borrow`, { method: 'POST', body });
    assert.equal(answer.status, 200, await answer.text());
    assert.match(berth('status').stdout, /^Running at /);
    const second = berth('serve', '--port', new URL(first.url).port);
    assert.match(
      second.stderr,
      new RegExp(`in use by another Berth process \\(process id ${first.child.pid}\\)`),
    );
    assert.equal(await stop(first.child), 0);
    const left = readdirSync(join(root, 'opt', 'data')).sort();
    assert.deepEqual(left, ['berth.db', 'berth.db-sums', 'berth.lock', 'demo-cloud', 'master.key']);
    assert.deepEqual(findProcesses(join(root, 'opt', 'berth')), []);
    const { stdout } = berth('registration', 'list', '--json');
    assert.match(stdout, /"ada"/);
  });

  test('backs up, restores and collects what a helper needs, as a user without a name', () => {
    const commands = [
      'backup /opt/one.backup',
      'restore /opt/one.backup',
      'support-bundle /opt/bundle.tar.gz',
    ];
    for (const command of commands) {
      const { status, stderr } = berth(...command.split(' '));
      assert.deepEqual([status, stderr], [0, ''], command);
    }
  });

  test('writes hints as they can be typed, also those of the cloud', () => {
    assert.match(berth('stauts').stderr, /\nUsage: \/opt\/berth status\n$/);
    assert.match(berth('cloud', 'license', 'list').stderr, /Create one with "\/opt\/berth cloud key create"/);
  });
});
