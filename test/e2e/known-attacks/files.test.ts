import assert from 'node:assert/strict';
import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { spawnBerth } from '../../support/berth-command.ts';
import { makeTestCertificate } from '../../support/certificate.ts';
import { pollUntil } from '../../support/poll.ts';
import { seedLicenses, startServerProcess, temporaryFolder } from '../../support/server-process.ts';

/** Attacks by other users of the machine, who can write a file that steers the server. */

const PRELOAD = fileURLToPath(new URL('../../support/outside-container.ts', import.meta.url));
const OUTSIDE = { NODE_OPTIONS: `--import=${PRELOAD}` };
const INSIDE = { container: 'podman' };

/** A server whose settings name files of every kind. */
async function openSite(t: TestContext) {
  const folder = temporaryFolder(t);
  const data = join(folder, 'data');
  await seedLicenses(data);
  const { cert, key } = makeTestCertificate();
  const at = (name: string) => join(folder, name);
  const contents = {
    'berth.yaml': [
      `tls: { cert: '${at('cert.pem')}', key: '${at('key.pem')}' }`,
      `webhooks.secretFile: '${at('secret')}'`,
      `mail.caFile: '${at('ca.pem')}'`,
    ].join('\n'),
    'cert.pem': cert,
    'key.pem': key,
    'ca.pem': cert,
    secret: 'x'.repeat(40),
    url: 'https://hooks.example/',
    'data/rules.yaml': 'deny: { users: [bob] }\n',
  };
  const paths = Object.keys(contents).map((name) => join(folder, name));
  for (const [name, text] of Object.entries(contents)) writeFileSync(join(folder, name), text);
  for (const name of ['key.pem', 'secret', 'url']) chmodSync(join(folder, name), 0o600);
  const env = { ...OUTSIDE, BERTH_WEBHOOKS_URL_FILE: join(folder, 'url') };
  const config = ['--config', join(folder, 'berth.yaml')];
  const run = (words: readonly string[], more = {}) =>
    spawnBerth(data, [...words, ...config], { ...env, ...more });
  const start = async (more = {}) => {
    const server = await startServerProcess({ data, args: config, env: { ...env, ...more } });
    t.after(() => server.stop('SIGKILL'));
    return server;
  };
  return { folder, data, paths, run, start };
}

const open = (path: string) => chmodSync(path, statSync(path).mode | 0o002);
const shut = (path: string) => chmodSync(path, statSync(path).mode & ~0o002);

describe('files that steer the server and that all users can write', {
  skip: process.platform === 'win32' && 'files have no mode',
}, () => {
  test('prevent a start and every command, which name the file and what to do', async (t) => {
    const { folder, paths, run } = await openSite(t);
    for (const path of paths) {
      open(path);
      const said = new RegExp(`All users .* write to ${path} \\(mode 0\\d\\d\\d\\)\\. .*: chmod o-w ${path}`);
      for (const words of [['serve', '--port', '0'], ['status']]) {
        const { code, stderr } = await run(words);
        assert.equal(code, 1, `${path}: ${stderr}`);
        assert.match(stderr, said);
      }
      shut(path);
    }
    chmodSync(paths[0] as string, 0o664);
    assert.equal((await run(['status'])).code, 1, 'stopped');
    assert.match((await run(['license', 'list'])).stdout, /demo|No licenses/i, 'the group may write');
    // Only variables that end in _FILE name a file.
    const note = join(folder, 'note');
    writeFileSync(note, '');
    open(note);
    assert.match((await run(['license', 'list'], { BERTH_PAGE_NAME: note })).stdout, /demo|No licenses/i);
  });

  test('are named by doctor', async (t) => {
    const { paths, run } = await openSite(t);
    for (const path of paths) {
      open(path);
      const { stdout } = await run(['doctor', '--json']);
      const { findings } = JSON.parse(stdout) as { findings: readonly Record<string, string>[] };
      const found = findings.filter(({ text, severity }) => text?.includes(path) && severity === 'problem');
      assert.ok(found.length > 0, stdout);
      assert.match(String(found[0]?.advice), /chmod/);
      shut(path);
    }
  });

  test('are not taken over while it runs: the rules, certificate and key that it has stay', async (t) => {
    const { folder, start } = await openSite(t);
    const server = await start();
    const { length } = server.readLog();
    const readNews = () => server.readLog().slice(length);
    const [rules, key] = [join(folder, 'data', 'rules.yaml'), join(folder, 'key.pem')];
    open(rules);
    writeFileSync(rules, 'deny: { users: [] }\n');
    await pollUntil('refused', () => /rules file .* not valid.*write to/.test(server.readLog()) || undefined);
    open(key);
    await pollUntil('key refused', () => /TLS files have changed and/.test(server.readLog()) || undefined);
    assert.match(server.readLog(), new RegExp(`write to ${key}`));
    assert.doesNotMatch(readNews(), /the rules have changed|new connections use them/);
    shut(rules);
    await pollUntil('taken', () => /the rules have changed/.test(readNews()) || undefined);
  });

  test('cause a warning in a container, which gets its files as they are', async (t) => {
    const { paths, run, start } = await openSite(t);
    const yaml = paths[0] as string;
    open(yaml);
    const server = await start(INSIDE);
    assert.match(server.readLog(), new RegExp(`"warn".*All users .* write to ${yaml}`));
    const { stdout } = await run(['doctor', '--json'], INSIDE);
    const { findings } = JSON.parse(stdout) as { findings: readonly Record<string, string>[] };
    assert.equal(findings.find(({ text }) => text?.includes(yaml))?.severity, 'warning');
  });
});
