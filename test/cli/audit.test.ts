import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { lockFolder } from '../../packages/server/src/store/folder-lock.ts';
import { runBerth } from '../support/berth-command.ts';
import {
  type ServerProcess,
  seedLicenses,
  startServerProcess,
  temporaryFolder,
} from '../support/server-process.ts';
import { testLicense } from '../support/test-license.ts';

const data = temporaryFolder({ after });
const folder = temporaryFolder({ after });
let server: ServerProcess;

after(() => server.stop('SIGKILL'));

before(async () => {
  await seedLicenses(data, [testLicense(1, { slots: 9 })]);
  server = await startServerProcess({ data });
  for (const user of ['ann', 'bob', 'eve']) {
    const body = JSON.stringify({ product: 'cad', user });
    await fetch(`${server.url}/api/v4/register`, { method: 'POST', body });
  }
});

async function readIdentityKey(): Promise<string> {
  const { stdout } = await runBerth(data, ['status', '--json']);
  return JSON.parse(stdout).identity_key;
}

describe('berth audit export', () => {
  test('prints the log, or writes it into a file for its owner, and both are intact', async () => {
    const out = join(folder, 'running.jsonl');
    const saved = await runBerth(data, ['audit', 'export', '--out', out]);
    assert.equal(saved.code, 0, saved.stderr);
    assert.match(saved.stdout, /^The export is intact: \d+ events in \d+ links of 2 chains\.\n/);
    assert.match(saved.stdout, /part +links 1 to \d+ of the log\n/, 'also if only its end was left out');
    assert.equal(statSync(out).mode & 0o777, 0o600);
    assert.equal(existsSync(`${out}.part`), false);
    const printed = await runBerth(data, ['audit', 'export']);
    assert.equal(printed.code, 0);
    const links = (text: string) => text.split('\n').filter((line) => line.includes('"type":"link"'));
    assert.deepEqual(links(printed.stdout), links(readFileSync(out, 'utf8')));
    writeFileSync(join(folder, 'printed.jsonl'), printed.stdout);
    for (const name of ['running.jsonl', 'printed.jsonl']) {
      const { code, stdout } = await runBerth(folder, [
        'audit',
        'verify',
        '--file',
        join(folder, name),
        '--json',
      ]);
      assert.equal(code, 0);
      assert.equal(JSON.parse(stdout).identity_key, await readIdentityKey());
    }
  });

  test('reports a file that cannot be written', async () => {
    const { code, stderr } = await runBerth(data, ['audit', 'export', '--out', join(folder, 'no', 'file')]);
    assert.equal(code, 1);
    assert.match(stderr, /^\S+ cannot be written: its folder does not exist\./);
  });

  test('that is interrupted fails, and leaves no file', async (t) => {
    const text = (await runBerth(data, ['audit', 'export'])).stdout;
    const cutAt = text.lastIndexOf('\n', text.length - 2) + 1;
    const out = join(folder, 'cut.jsonl');
    for (const isAborted of [false, true]) {
      const { code, stderr } = await runBerth(await pretend(t, text.slice(0, cutAt), isAborted), [
        'audit',
        'export',
        '--out',
        out,
      ]);
      assert.equal(code, 1);
      assert.match(
        stderr,
        isAborted ? /^The server closed the connection/ : /^The export is incomplete: .*interrupted/,
      );
      assert.deepEqual([existsSync(out), existsSync(`${out}.part`)], [false, false]);
    }
  });
});

/** A data folder whose server hands out this export, and may hang up before it is over. */
async function pretend(t: { after(work: () => void): void }, text: string, isAborted: boolean) {
  const pretended = temporaryFolder(t);
  await seedLicenses(pretended, []);
  const fake = createServer((request, response) => {
    if (request.url === '/') return response.end('ok');
    response.writeHead(200, { 'content-type': 'application/jsonl' });
    return response.write(text, () => (isAborted ? request.socket.destroy() : response.end()));
  });
  const lock = lockFolder(pretended);
  await new Promise<void>((resolve) => fake.listen(join(pretended, 'berth.sock'), resolve));
  t.after(() => {
    lock?.release();
    fake.close();
  });
  return pretended;
}

describe('berth audit verify --file', () => {
  test('fails for a file that was changed, cut, or does not exist', async () => {
    const text = (await runBerth(data, ['audit', 'export'])).stdout;
    const file = join(folder, 'changed.jsonl');
    for (const [content, problem] of [
      [text.replace('"ann"', '"zoe"'), /signature is wrong/],
      [text.slice(0, text.length / 2), /interrupted/],
    ] as const) {
      writeFileSync(file, content);
      const { code, stdout } = await runBerth(folder, ['audit', 'verify', '--file', file]);
      assert.equal(code, 1);
      assert.match(stdout, /^The export is BROKEN:\n {2}/);
      assert.match(stdout, problem);
    }
    writeFileSync(file, text.replace('"version":1', '"version":2'));
    const newer = await runBerth(folder, ['audit', 'verify', '--file', file]);
    assert.deepEqual([newer.code, newer.stdout], [1, '']);
    assert.match(newer.stderr, /changed\.jsonl cannot be read: it was written by a newer Berth \(format 2; /);
    const { code, stderr } = await runBerth(folder, ['audit', 'verify', '--file', join(folder, 'none')]);
    assert.equal(code, 1);
    assert.match(stderr, /^The file \S+none does not exist\.\n$/);
  });
});

describe('berth audit thin', () => {
  test('refuses a date in the future, and needs one', async () => {
    const future = await runBerth(data, ['audit', 'thin', '--before', '2999-01-01']);
    assert.equal(future.code, 1);
    assert.match(future.stderr, /^"before" must not be in the future/);
    const none = await runBerth(data, ['audit', 'thin']);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /^"berth audit thin" needs --before DATE\.\n/);
  });

  test('replaces links with totals, and the log stays intact', async () => {
    const before = new Date(Date.now() - 1).toISOString();
    const { code, stdout } = await runBerth(data, ['audit', 'thin', '--before', before, '--license-id', '1']);
    assert.equal(code, 0);
    assert.equal(stdout, 'Replaced 3 links with totals.\n');
    const verified = await runBerth(data, ['audit', 'verify']);
    assert.match(
      verified.stdout,
      /^The audit log is intact: .* 3 older links were replaced with totals\.\n$/,
    );
  });
});

/** The newest events of the system. */
async function listKinds(limit: number): Promise<readonly string[]> {
  const { stdout } = await runBerth(data, ['audit', 'list', '--system', '--limit', `${limit}`, '--json']);
  return JSON.parse(stdout).events.map(({ kind }: { kind: string }) => kind);
}

describe('a server signs its log', () => {
  test('when it stops, and logs it; the next start has nothing to sign', async () => {
    assert.equal(await server.stop(), 0);
    const listed = await runBerth(data, ['audit', 'list', '--system', '--limit', '2', '--json']);
    const [signed, stopped] = JSON.parse(listed.stdout).events;
    assert.deepEqual([signed.kind, stopped.kind], ['heads_signed', 'server_stopped']);
    assert.ok(server.readLog().includes(`"digest":"${signed.digest}"`));
    const recent = ['--since', '1h', '--kind', 'server_started,server_stopped', '--json'];
    const found = await runBerth(data, ['audit', 'list', ...recent]);
    const kinds = new Set(JSON.parse(found.stdout).events.map(({ kind }: { kind: string }) => kind));
    assert.deepEqual(kinds, new Set(['server_stopped', 'server_started']));
    server = await startServerProcess({ data });
    await server.stop('SIGKILL');
    assert.deepEqual(await listKinds(3), ['server_started', 'heads_signed', 'server_stopped']);
    server = await startServerProcess({ data });
    const killed = ['server_started', 'heads_signed', 'server_started', 'heads_signed'];
    assert.deepEqual(await listKinds(4), killed, 'what the killed one has left was signed');
    const { stdout } = await runBerth(data, ['audit', 'verify']);
    assert.match(stdout, /^The audit log is intact/);
  });

  test('the export of a stopped server uses the same command', async () => {
    await server.stop();
    const out = join(folder, 'stopped.jsonl');
    assert.equal((await runBerth(data, ['audit', 'export', '--out', out])).code, 0);
    assert.equal((await runBerth(folder, ['audit', 'verify', '--file', out])).code, 0);
  });
});

describe('a log that was tampered with', () => {
  test('is still exported, and every command says that it is broken', async () => {
    const db = new DatabaseSync(join(data, 'berth.db'));
    db.exec("UPDATE audit_link SET events = replace(events, 'server_started', 'server_stopped')");
    db.close();
    const out = join(folder, 'evidence.jsonl');
    const saved = await runBerth(data, ['audit', 'export', '--out', out]);
    assert.equal(saved.code, 1);
    assert.match(
      saved.stdout,
      /^The export is BROKEN:\n {2}The log was already broken when it was exported:\n/,
    );
    assert.match(saved.stdout, /It was still saved as .*evidence\.jsonl\.\n$/);
    const checked = await runBerth(folder, ['audit', 'verify', '--file', out]);
    assert.equal(checked.code, 1);
    assert.match(checked.stdout, /The link was changed/);
    const printed = await runBerth(data, ['audit', 'export']);
    assert.equal(printed.code, 1);
    assert.match(printed.stdout, /"type":"signature".*\n$/);
    assert.match(printed.stderr, /^The export is BROKEN:/m);
  });
});
