import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { runBerth } from '../support/berth-command.ts';
import { BERTH } from '../support/program.ts';
import { findForms, type Secret } from '../support/secret-search.ts';
import { type ServerProcess, startServerProcess, temporaryFolder } from '../support/server-process.ts';
import {
  askDatabase,
  describeStores,
  dumpDatabase,
  environmentOf,
  findDatabase,
} from '../support/stores/test-stores.ts';

const ARGS = ['--log-requests', '--log-slow-request-ms', '1', '--log-level', 'debug', '--log-format', 'json'];

/** With characters that URLs and JSON write differently. */
function makeSecret(): string {
  return `cänary/+&="\\? ${randomBytes(18).toString('base64')}`;
}

/** Everything that was seen, by where; and the secrets that must be in none of it. */
class Watch {
  readonly data: string;
  readonly source: string;
  readonly #secrets: [string, Secret][] = [];
  readonly #seen: [string, Buffer][] = [];

  /** `source`: the folder whose database it is, if it is that of another one. */
  constructor(data: string, source = data) {
    this.data = data;
    this.source = source;
  }

  plant(what: string): string {
    const secret = makeSecret();
    this.#secrets.push([what, secret]);
    return secret;
  }

  see(where: string, what: string | Buffer): void {
    this.#seen.push([where, Buffer.from(what)]);
  }

  /** Folder and database as they are now. The master key is in its own file, and must be nowhere else. */
  async seeFiles(when: string, folder = this.data): Promise<void> {
    this.see(`the database ${when}`, await dumpDatabase(this.data));
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const bytes = readFileSync(join(folder, entry.name));
      if (entry.name === 'master.key') this.#learnMasterKey(bytes.toString('utf8').trim());
      else this.see(`${entry.name} ${when}`, bytes);
    }
  }

  #learnMasterKey(hex: string): void {
    this.#secrets.push([`the master key ${hex.slice(0, 4)}`, Buffer.from(hex, 'hex')]);
  }

  /** Whether it has not seen the command line of this command. */
  isFirst(words: readonly string[]): boolean {
    return !this.#seen.some(([where]) => where === `the command line of ${words.join(' ')}`);
  }

  seeCommandLine(who: string, pid: number | undefined): void {
    const file = `/proc/${pid}/cmdline`;
    if (existsSync(file)) this.see(`the command line of ${who}`, readFileSync(file));
  }

  /** Where each secret was found, in which form. */
  listFinds(): readonly string[] {
    return this.#seen.flatMap(([where, bytes]) =>
      this.#secrets.flatMap(([what, secret]) =>
        findForms(bytes, secret).map((form) => `${what}, ${form}, in ${where}`),
      ),
    );
  }

  get size(): { readonly places: number; readonly secrets: number } {
    return { places: this.#seen.length, secrets: this.#secrets.length };
  }
}

/** A request as a program on this machine sends it; whatever is answered is looked through. */
async function send(watch: Watch, url: string, method: string, path: string, options: SendOptions = {}) {
  const { body, headers = {} } = options;
  const outgoing = request(`${url}${path}`, { method, headers });
  outgoing.end(body);
  const [incoming] = await once(outgoing, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  watch.see(`the answer to ${method} ${path.split('?')[0]}`, JSON.stringify(incoming.headers) + text);
  return { status: incoming.statusCode as number, text };
}

interface SendOptions {
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function start(t: TestContext, watch: Watch): Promise<ServerProcess> {
  const env = {
    BERTH_AUTH_OIDC_ISSUER: 'http://127.0.0.1:1',
    BERTH_AUTH_OIDC_CLIENT_ID: 'berth',
    BERTH_AUTH_OIDC_CLIENT_SECRET: watch.plant('the secret for the provider'),
    BERTH_AUTH_LDAP_URL: 'ldaps://127.0.0.1:1',
    BERTH_AUTH_LDAP_BASE: 'dc=example',
    BERTH_AUTH_LDAP_BIND_DN: 'cn=reader,dc=example',
    BERTH_AUTH_LDAP_BIND_PASSWORD: watch.plant('the password for the directory'),
  };
  const server = await startServerProcess({ data: watch.data, args: ARGS, env });
  server.child.stdout?.on('data', (chunk: Buffer) => watch.see('standard output', chunk));
  t.after(() => server.stop('SIGKILL'));
  watch.seeCommandLine('the server', server.child.pid);
  return server;
}

async function stop(watch: Watch, server: ServerProcess, signal: NodeJS.Signals): Promise<void> {
  const closed = once(server.child, 'close');
  await server.stop(signal);
  await closed;
  watch.see('standard error', server.readLog());
}

/** Runs a command of the command line, which waits for its input while its own line is read. */
async function runCommand(watch: Watch, words: readonly string[], input = ''): Promise<string> {
  const database = await environmentOf(watch.source);
  // What a command prints depends on the store and on what happened; what its command line shows does not,
  // and only what it was told could be in there.
  const outputs =
    input !== '' && findDatabase(watch.source) === null && watch.isFirst(words)
      ? await spawnCommand(watch, words, input)
      : await runBerth(watch.data, words, database, input);
  watch.see(`berth ${words.join(' ')}`, `${outputs.stdout}\n${outputs.stderr}`);
  return outputs.stdout;
}

async function spawnCommand(watch: Watch, words: readonly string[], input: string) {
  const child = spawn(BERTH.file, [...BERTH.args, ...words, '--data', watch.data], { stdio: 'pipe' });
  watch.seeCommandLine(words.join(' '), child.pid);
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const outputs = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    outputs.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    outputs.stderr += text;
  });
  await once(child, 'close');
  return outputs;
}

async function setKeys(watch: Watch, { url }: ServerProcess, round: string): Promise<void> {
  const query = new URLSearchParams({
    apiKey: watch.plant(`the API key of GET ${round}`),
    sharedKey: watch.plant(`the shared key of GET ${round}`),
  });
  const inUrl = await send(watch, url, 'GET', `/api/v4/setKeys?${query}`);
  assert.equal(inUrl.status, 200, inUrl.text);
  const keys = {
    apiKey: watch.plant(`the API key of POST ${round}`),
    sharedKey: watch.plant(`the shared key of POST ${round}`),
  };
  const posted = await send(watch, url, 'POST', '/api/v4/setKeys', { body: JSON.stringify(keys) });
  assert.equal(posted.status, 200, posted.text);
}

/** Many receivers of webhooks know their senders by a token in the address. */
async function setWebhook(watch: Watch, server: ServerProcess, round: string): Promise<void> {
  const token = encodeURIComponent(watch.plant(`the address of the webhook ${round}`));
  const changes = { 'webhooks.url': `http://127.0.0.1:1/hook?token=${token}` };
  const changed = await send(watch, server.url, 'POST', '/api/admin/settings', {
    body: JSON.stringify({ changes }),
  });
  assert.equal(changed.status, 200, changed.text);
  assert.match(changed.text, /"http:\/\/127\.0\.0\.1:1\/…"/);
}

/** Everything that can go wrong with a secret on board. */
async function provoke(watch: Watch, { url }: ServerProcess): Promise<void> {
  const secret = watch.plant('what went wrong');
  const encoded = encodeURIComponent(secret);
  const path = '/api/v4/setKeys';
  const json = JSON.stringify(secret);
  const statuses = [
    await send(watch, url, 'GET', `${path}?apiKey=${encoded}&apiKey=${encoded}`),
    await send(watch, url, 'GET', `${path}?apiKey=${encoded.repeat(20)}`),
    await send(watch, url, 'GET', `${path}?apiKey=${encoded}%00`),
    await send(watch, url, 'GET', `${path}?apiKey=${encoded}%ff`),
    await send(watch, url, 'GET', `${path}?other=${encoded}`),
    await send(watch, url, 'GET', `${path}?apiKey=${encoded}`, {
      headers: { origin: 'http://evil.example' },
    }),
    await send(watch, url, 'GET', `${path}?apiKey=${encoded}`, {
      headers: { authorization: `Bearer ${encoded}` },
    }),
    await send(watch, url, 'PUT', `${path}?apiKey=${encoded}`),
    await send(watch, url, 'GET', `/api/v9/setKeys?apiKey=${encoded}`),
    await send(watch, url, 'POST', path, { body: `{"apiKey":${json}` }),
    await send(watch, url, 'POST', path, { body: `{"apiKey":[${json}]}` }),
    await send(watch, url, 'POST', path, { body: `{"apiKey":${json},"__proto__":${json}}` }),
    await send(watch, url, 'POST', path, { body: `{"apiKey":${JSON.stringify(secret.repeat(5000))}}` }),
    await send(watch, url, 'POST', '/api/admin/keys/rotate', { body: `{"new_key":${json}}` }),
    await send(watch, url, 'POST', '/api/admin/keys/export', { body: `{"passphrase":[${json}]}` }),
  ].map(({ status }) => status);
  for (const status of statuses) assert.ok(status >= 400 && status < 500, statuses.join(' '));
}

async function useCommands(watch: Watch): Promise<void> {
  const lines = `${watch.plant('the API key of key set')}\nsharedKey=x\n`;
  await runCommand(watch, ['key', 'set'], lines);
  const pair = [watch.plant('the API key of key set, again'), watch.plant('the shared key of key set')];
  assert.match(await runCommand(watch, ['key', 'set'], pair.join('\n')), /^Set: api key, shared key/);
  assert.match(await runCommand(watch, ['key', 'rotate']), /^All secrets are sealed/);
  const passphrase = watch.plant('the passphrase');
  assert.match(await runCommand(watch, ['key', 'export'], `${passphrase}\n`), /^\{"format"/);
  for (const words of [
    ['key', 'show'],
    ['status', '--json'],
    ['config', '--json'],
    ['audit', 'list', '--json'],
    ['doctor', '--json'],
  ]) {
    assert.notEqual(await runCommand(watch, words), '');
  }
}

describeStores('a secret that goes in', (store) => {
  test('is found nowhere', async (t) => {
    const watch = new Watch(join(temporaryFolder(t), 'data'));
    const first = await start(t, watch);
    await setKeys(watch, first, 'first');
    await setWebhook(watch, first, 'first');
    await watch.seeFiles('while it runs');
    await provoke(watch, first);
    await useCommands(watch);
    await watch.seeFiles('after the rotation');
    await setKeys(watch, first, 'second');
    await stop(watch, first, 'SIGKILL');
    await watch.seeFiles('after the crash');
    assert.match(first.readLog(), /"slow request"/);
    assert.match(first.readLog(), /"route":"set_keys"/);
    const second = await start(t, watch);
    await send(watch, second.url, 'GET', '/api/admin/status');
    await setKeys(watch, second, 'third');
    await setWebhook(watch, second, 'second');
    await stop(watch, second, 'SIGTERM');
    await watch.seeFiles('after the end');
    // The server that was killed counts as running for half a minute, and nobody changes the key meanwhile.
    if (store === 'PostgreSQL') await askDatabase(watch.data, 'DELETE FROM server_instance');
    await useCommands(watch);
    await watch.seeFiles('at last');
    await lookAtCopy(t, watch);
    assert.deepEqual(watch.listFinds(), []);
    const { places, secrets } = watch.size;
    const leastPlaces = store === 'SQLite' ? 60 : 50;
    assert.ok(places > leastPlaces && secrets > 20, `${secrets} secrets in ${places} places`);
  });
});

/** As release 0.1.0 left them: an address that was replaced, and the one in use. */
async function writePlainWebhook(watch: Watch): Promise<string> {
  const plant = (what: string) =>
    `https://hooks.example/${encodeURIComponent(watch.plant(what))}${'/x'.repeat(600)}`;
  const [replaced, used] = [plant('a replaced address'), plant('the address')];
  const write = (url: string) =>
    `UPDATE setting SET value = '${JSON.stringify(url)}' WHERE name = 'webhooks.url'`;
  const unseal = "DELETE FROM sealed_secret WHERE name = 'setting:webhooks.url'";
  if (findDatabase(watch.data) !== null) {
    for (const sql of [write(replaced), write(used), unseal]) await askDatabase(watch.data, sql);
    return used;
  }
  const file = join(watch.data, 'berth.db');
  const db = new DatabaseSync(file);
  db.exec(`${write(replaced)}; ${write(used)}; ${unseal}`);
  db.close();
  // Of the pages as they were before.
  rmSync(`${file}-sums`);
  return used;
}

describeStores('the address of a webhook that 0.1.0 kept as plain text', () => {
  test('is sealed at the next start, and still in force', async (t) => {
    const watch = new Watch(join(temporaryFolder(t), 'data'));
    const first = await start(t, watch);
    await setWebhook(watch, first, 'before');
    await stop(watch, first, 'SIGTERM');
    const url = await writePlainWebhook(watch);
    const second = await start(t, watch);
    await watch.seeFiles('while the new server runs');
    const settings = await send(watch, second.url, 'GET', '/api/admin/settings');
    assert.match(settings.text, /"https:\/\/hooks\.example\/…"/);
    const backup = await runCommand(watch, ['backup', join(watch.data, 'of.backup')]);
    assert.match(backup, /of\.backup/);
    await stop(watch, second, 'SIGKILL');
    await watch.seeFiles('after the crash');
    assert.deepEqual(watch.listFinds(), []);
    assert.ok(watch.size.places > 8, url);
  });
});

/** Whoever has the database and not its key has nothing. */
async function lookAtCopy(t: TestContext, watch: Watch): Promise<void> {
  const stolen = new Watch(join(temporaryFolder(t), 'stolen'), watch.data);
  cpSync(watch.data, stolen.data, { recursive: true, filter: (name) => !/\.(key|sock)$/.test(name) });
  await watch.seeFiles('in the copy', stolen.data);
  assert.equal(await runCommand(stolen, ['key', 'show']), '');
  assert.equal(existsSync(join(stolen.data, 'master.key')), false, 'and no key is made up for it');
  rmSync(stolen.data, { recursive: true });
}

test('the search itself finds a secret in a file, in a log and in an answer', (t) => {
  const watch = new Watch(temporaryFolder(t));
  const secret = watch.plant('it');
  watch.see('a log', `apiKey=${encodeURIComponent(secret)}`);
  watch.see('an answer', JSON.stringify({ secret }));
  watch.see(
    'a page',
    Buffer.concat([randomBytes(5), Buffer.from(Buffer.from(`x${secret}`).toString('base64'))]),
  );
  watch.see('nothing', randomBytes(100));
  const finds = watch.listFinds();
  for (const where of ['a log', 'an answer', 'a page']) {
    assert.ok(
      finds.some((find) => find.endsWith(`in ${where}`)),
      where,
    );
  }
  assert.ok(!finds.some((find) => find.endsWith('in nothing')));
});
