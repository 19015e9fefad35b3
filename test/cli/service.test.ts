import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { describeService } from '../../packages/server/src/cli/service/plan-service.ts';
import { SYSTEMD } from '../../packages/server/src/cli/service/systemd.ts';
import { loadConfig } from '../../packages/server/src/config.ts';
import { runBerth } from '../support/berth-command.ts';
import { PROJECT, plainEnv } from '../support/clone.ts';
import { temporaryFolder } from '../support/server-process.ts';

const PAGE = readFileSync(join(PROJECT, 'docs', 'install.md'), 'utf8');

const skip = !has('systemd-analyze') && 'systemd is not installed';

function has(program: string): boolean {
  return process.platform === 'linux' && spawnSync(program, ['--version']).status === 0;
}

/** The unit of a server on this folder, which runs from this clone. */
function writeUnit(data: string, flags: Readonly<Record<string, string>> = {}): string {
  const { config } = loadConfig({ flags: { ...flags, data }, env: {}, file: null, home: '/nowhere' });
  const self = [process.execPath, join(PROJECT, 'bin', 'main.ts')];
  const facts = describeService({ self, flags, config });
  const unit = SYSTEMD.install(facts).written.find(({ path }) => path === SYSTEMD.definition);
  return unit?.text ?? assert.fail('no unit');
}

describe('the systemd unit', { skip }, () => {
  for (const [data, flags] of [
    ['/var/lib/berth/data', {}],
    ['/srv/a "b" 50%/data', { port: '443' }],
  ] as const) {
    test(`for ${data} has nothing that systemd warns about`, (t) => {
      const file = join(temporaryFolder(t), 'berth.service');
      writeFileSync(file, writeUnit(data, flags));
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
        encoding: 'utf8',
      });
      const own = stderr.split('\n').filter((line) => line.includes('berth'));
      assert.deepEqual([status, own], [0, []]);
    });
  }

  test('is as hardened as docs/install.md says', (t) => {
    const file = join(temporaryFolder(t), 'berth.service');
    writeFileSync(file, writeUnit('/var/lib/berth/data'));
    const args = ['security', '--offline=true', '--no-pager', file];
    const output = execFileSync('systemd-analyze', args, { encoding: 'utf8' });
    const [, score = ''] = /exposure level for \S+: ([\d.]+) /.exec(output) ?? [];
    const [, said = ''] = /exposure level is (\d\.\d)/.exec(PAGE) ?? [];
    assert.ok(Number(score) <= Number(said), `${score}, not ${said}`);
  });
});

const notify = (!has('systemd-socket-activate') || !has('systemd-notify')) && 'systemd is not installed';

/** Stands in for systemd: what it is told is on standard output. */
async function listenAsSystemd(path: string): Promise<ChildProcess> {
  const args = ['--datagram', '--listen', path, 'sh', '-c', 'exec cat <&3'];
  const child = spawn('systemd-socket-activate', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  await once(child.stderr, 'data');
  return child;
}

test('the command of the unit tells systemd when it is ready and when it stops', {
  skip: notify,
}, async (t) => {
  const folder = temporaryFolder(t);
  const data = join(folder, 'data');
  const socket = join(folder, 'notify');
  const systemd = await listenAsSystemd(socket);
  t.after(() => systemd.kill('SIGKILL'));
  const [, words = ''] = /^ExecStart=(.*)$/m.exec(writeUnit(data, { port: '0' })) ?? [];
  const [file = '', ...args] = words.split(' ');
  const server = spawn(file, args, { env: plainEnv({ NOTIFY_SOCKET: socket }), stdio: 'ignore' });
  t.after(() => server.kill('SIGKILL'));
  // systemd-notify waits until its message was read, and the server for systemd-notify.
  const exited = once(server, 'exit').finally(() => systemd.kill());
  let told = '';
  for await (const chunk of systemd.stdout?.setEncoding('utf8') ?? []) {
    told += chunk;
    if (!server.killed && told.includes('READY=1')) server.kill('SIGTERM');
  }
  assert.match(told, /READY=1\nSTATUS=Listening on http:\/\/127\.0\.0\.1:\d+[\s\S]*STOPPING=1/);
  assert.deepEqual(await exited, [0, null]);
  assert.deepEqual(readdirSync(data).sort(), ['berth.db', 'berth.db-sums', 'berth.lock', 'master.key']);
});

test('a server that cannot tell systemd warns, and goes on', {
  skip: notify,
  timeout: 300_000,
}, async (t) => {
  const data = temporaryFolder(t);
  const env = plainEnv({ NOTIFY_SOCKET: join(data, 'none') });
  const words = ['serve', '--port', '0', '--data', data, '--log-level', 'error'];
  const server = spawn(join(PROJECT, 'berth'), words, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  t.after(() => server.kill('SIGKILL'));
  let said = '';
  for await (const chunk of server.stderr.setEncoding('utf8')) {
    said += chunk;
    if (said.includes('READY=1')) break;
  }
  assert.match(said, /systemd was not told READY=1: /);
  server.kill('SIGTERM');
  assert.deepEqual(await once(server, 'exit'), [0, null]);
});

describe('berth service', { skip: process.platform !== 'linux' && 'systemd' }, () => {
  test('install --dry-run prints every file and every command, and does nothing', async () => {
    const { code, stdout } = await runBerth('/srv/berth-none', ['service', 'install', '--dry-run']);
    const problem = SYSTEMD.explainPath(PROJECT);
    assert.equal(code, problem === null ? 0 : 1);
    assert.match(stdout, /^Write \/etc\/sysusers\.d\/berth\.conf:\n\n {4}u berth - /);
    assert.match(
      stdout,
      /\nWrite \/etc\/systemd\/system\/berth\.service:\n\n {4}# "berth service install" writes/,
    );
    assert.match(stdout, /\n {4}ExecStart=\S+.* serve --data \/srv\/berth-none\n/);
    assert.match(stdout, /\nRun: systemctl restart berth\.service\n\nNothing was changed\.\n/);
    assert.equal(stdout.includes('Put the executable into'), problem !== null);
  });

  test('uninstall --dry-run says what stays', async () => {
    const { code, stdout } = await runBerth('/srv/berth-none', ['service', 'uninstall', '--dry-run']);
    assert.equal(code, 0);
    assert.match(stdout, /^Run: systemctl disable --now berth\.service\n/);
    assert.match(stdout, /\nNothing was changed\. The data stays in \/srv\/berth-none\.\n$/);
  });
});
