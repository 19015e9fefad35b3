import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { Fleet } from '../faults/fleet/fleet.ts';
import { restore, saveBackup } from '../support/backups.ts';
import { askBerth, runBerth } from '../support/berth-command.ts';
import { makeCertificate } from '../support/certificate.ts';
import { openMailReceiver } from '../support/mail-receiver.ts';
import { pollUntil } from '../support/poll.ts';
import { findForms } from '../support/secret-search.ts';
import { startServerHere } from '../support/server-here.ts';
import { seedLicenses, startServerProcess, temporaryFolder } from '../support/server-process.ts';
import { findPostgres, hasPostgres } from '../support/stores/postgres.ts';
import { describeStores, dumpDatabase } from '../support/stores/test-stores.ts';
import { testLicense } from '../support/test-license.ts';
import { openWebhookReceiver } from '../support/webhook-receiver.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const PASSWORD = 'the mail password 4711';

interface Listed {
  readonly channels: readonly {
    readonly name: string;
    readonly state: string;
    readonly time_zone?: string;
    readonly digest?: string;
    readonly error: string | null;
  }[];
}

/** A mail server with a certificate of our own CA, and the data of a license with one slot. */
async function openSite(t: TestContext) {
  const [notBefore, notAfter] = [new Date(Date.now() - DAY_MS), new Date(Date.now() + DAY_MS)];
  const certificate = makeCertificate({ names: ['127.0.0.1'], notBefore, notAfter });
  const users: unknown[] = [];
  const mail = await openMailReceiver(t, {
    ...certificate,
    onAuth({ username, password }, _, done) {
      users.push(username);
      if (password === PASSWORD) done(null, { user: username ?? '' });
      else done(new Error('Invalid login'));
    },
  });
  const folder = temporaryFolder(t);
  const data = join(folder, 'data');
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, certificate.cert);
  await seedLicenses(data, [testLicense(1, { slots: 1, product: 'cad' })]);
  const args = ['--mail-ca-file', caFile, '--log-level', 'debug', '--log-requests'];
  const run = (words: readonly string[], input = '') => runBerth(data, words, {}, input);
  const start = async () => {
    const server = await startServerProcess({ data, args });
    t.after(() => server.stop('SIGKILL'));
    return server;
  };
  const startHere = async (folder = data) => {
    const server = await startServerHere({ data: folder, args: ['--mail-ca-file', caFile] });
    t.after(server.stop);
    return server;
  };
  const addMail = (name: string, password = PASSWORD, ...flags: readonly string[]) => {
    const server = ['--server', `127.0.0.1:${mail.port}`, '--user', 'berth'];
    const address = ['--to', 'ops@example.com', '--from', 'berth@example.com'];
    return run(['notify', 'add', name, '--kind', 'mail', ...address, ...server, ...flags], `${password}\n`);
  };
  return { folder, data, mail, users, run, start, startHere, addMail };
}

async function ask(url: string, ...users: readonly string[]): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  for (const user of users)
    await fetch(`${url}/api/v4/register`, { method: 'POST', headers, body: JSON.stringify({ user }) });
}

/** How many refusals a text tells. */
function countRefusals(text: string): number {
  const [, count] = /([\d,]+) (?:more )?refusals/.exec(text) ?? [];
  return count === undefined ? Number(text.includes('was refused')) : Number(count.replaceAll(',', ''));
}

describe('messages of a real server', () => {
  test('come by mail and chat, and count every refusal although the server is killed', async (t) => {
    const { data, mail, run, start, startHere, addMail } = await openSite(t);
    const chat = await openWebhookReceiver(t);
    const first = await start();
    await ask(first.url, 'holder');
    const added = await addMail('ops', PASSWORD, '--gap', '1');
    assert.match(
      added.stdout,
      /^The channel "ops" is added\. See whether messages arrive: "berth notify test ops /,
    );
    await run(['notify', 'add', 'desk', '--kind', 'slack'], `${chat.url}\n`);
    const pager = await openWebhookReceiver(t);
    await run(['notify', 'add', 'pager', '--kind', 'webhook'], `${pager.url}\n\n`);
    await run(['notify', 'add', 'duty', '--kind', 'webhook'], `${pager.url}\nBearer 0815\n`);
    for (const name of ['pager', 'duty'])
      assert.match((await run(['notify', 'test', name])).stdout, /^Delivered/);
    assert.deepEqual(
      pager.requests.map(({ headers }) => headers.authorization),
      [undefined, 'Bearer 0815'],
    );
    for (const name of ['pager', 'duty']) await run(['notify', 'remove', name]);
    assert.match((await run(['notify', 'test', 'ops'])).stdout, /^Delivered: status 250 after \d+ ms\.\n$/);
    assert.match((await run(['notify', 'test', 'desk'])).stdout, /^Delivered: status 200 after \d+ ms\.\n$/);
    await ask(first.url, 'u0');
    await mail.arrived(2);
    assert.match(mail.mails[1]?.headers.get('subject') ?? '', /^\[Berth\] u0 was refused a slot of /);
    await chat.arrived(2);
    await ask(first.url, ...Array.from({ length: 30 }, (_, at) => `v${at}`));
    await first.stop('SIGKILL');
    const second = await startHere();
    await ask(second.url, ...Array.from({ length: 10 }, (_, at) => `w${at}`));
    // The rest waits for the gap, which the server remembers.
    const { channels } = await askBerth<Listed>(data, ['notify', 'list']);
    assert.deepEqual(
      channels.map(({ name, state }) => [name, state]),
      [
        ['desk', 'ok'],
        ['ops', 'ok'],
      ],
    );
    assert.deepEqual([mail.mails.length, chat.requests.length], [2, 2]);
    await run(['notify', 'set', 'desk', '--gap', '0', '--zone', 'Asia/Tokyo', '--digest', 'monthly']);
    const changed = await askBerth<Listed>(data, ['notify', 'list']);
    const desk = changed.channels.find(({ name }) => name === 'desk');
    assert.deepEqual([desk?.time_zone, desk?.digest], ['Asia/Tokyo', 'monthly']);
    assert.match((await run(['notify', 'set', 'desk', '--digest', 'wekly'])).stderr, /Did you mean "weekly"/);
    await chat.arrived(3);
    assert.equal(countRefusals(chat.requests[2]?.body ?? ''), 40);
  });

  test('that fail say why, wherever one looks, and a correction sends them', async (t) => {
    const { data, mail, run, startHere, addMail } = await openSite(t);
    const server = await startHere();
    await addMail('ops', 'wrong');
    const tested = await run(['notify', 'test', 'ops']);
    assert.equal(tested.code, 1);
    const sentence = 'The test message was not delivered: the receiver answered "535 Invalid login".\n';
    assert.equal(tested.stdout, sentence);
    const status = await askBerth<Listed>(data, ['status']);
    assert.deepEqual(
      [status.channels[0]?.state, status.channels[0]?.error],
      ['failing', 'it answered "535 Invalid login"'],
    );
    assert.match(
      (await run(['status'])).stdout,
      /^channels +ops failing since 20.*: it answered "535 Invalid login"$/m,
    );
    assert.match(
      (await run(['doctor'])).stdout,
      /channels +Messages have not reached the channel "ops" since 20/,
    );
    await ask(server.url, 'holder', 'a', 'b');
    await addMail('ops');
    await mail.arrived(1);
    assert.equal(countRefusals(mail.mails[0]?.text ?? ''), 2);
  });
});

describeStores('secrets of channels', () => {
  test('are shown to no one, and sealed anew with the master key', async (t) => {
    const { folder, data, mail, users, run, start, addMail } = await openSite(t);
    const server = await start();
    await addMail('ops');
    const seen: [string, string | Buffer][] = [];
    for (const words of [
      ['notify', 'list'],
      ['notify', 'list', '--json'],
      ['status', '--json'],
      ['audit', 'list'],
    ])
      seen.push([words.join(' '), (await run(words)).stdout]);
    assert.equal((await run(['key', 'rotate'])).code, 0);
    assert.match((await run(['notify', 'test', 'ops'])).stdout, /^Delivered/);
    assert.deepEqual([users, mail.mails.length], [['berth'], 1]);
    const file = join(folder, 'one.backup');
    await saveBackup(server.url, file, 'a passphrase, long');
    seen.push(['the backup', readFileSync(file)]);
    assert.equal(await server.stop(), 0);
    seen.push(['the log', server.readLog()], ['the database', await dumpDatabase(data)]);
    for (const name of readdirSync(data))
      if (statSync(join(data, name)).isFile()) seen.push([name, readFileSync(join(data, name))]);
    const finds = seen.flatMap(([where, what]) =>
      findForms(Buffer.from(what), PASSWORD).map((form) => `${form} in ${where}`),
    );
    assert.deepEqual(finds, []);
  });
});

test('of several servers one sends, and another goes on when it dies', {
  skip: !hasPostgres,
}, async (t) => {
  const postgres = await findPostgres(t);
  const licenses = [testLicense(1, { slots: 1 })];
  const fleet = await Fleet.start(t, { postgres, size: 2, licenses });
  const statuses = await Promise.all(
    fleet.urls.map(
      async (url) => (await (await fetch(`${url}/api/admin/status`)).json()) as { leader: boolean },
    ),
  );
  const at = statuses.findIndex(({ leader }) => leader);
  const [leader, other] = [fleet.servers[at], fleet.servers[1 - at]];
  assert.ok(leader !== undefined && other !== undefined);
  const receiver = await openWebhookReceiver(t);
  const channel = { name: 'ops', kind: 'slack', url: receiver.url, gap_minutes: 0 };
  const send = (path: string, body: object) =>
    fetch(`${other.url}/api/admin/${path}`, { method: 'POST', body: JSON.stringify(body) });
  assert.equal((await send('channels', channel)).status, 200);
  await ask(leader.url, 'holder', 'a');
  await ask(other.url, 'b', 'c');
  const told = () => receiver.requests.reduce((sum, { body }) => sum + countRefusals(body), 0);
  await pollUntil('the leader has told', () => (told() >= 3 ? true : undefined));
  await pollUntil('it is noted', async () => {
    const answer = await fetch(`${other.url}/api/admin/channels`);
    const { channels } = (await answer.json()) as Listed;
    return channels[0]?.state === 'ok' ? true : undefined;
  });
  await leader.stop('SIGKILL');
  await ask(other.url, 'd', 'e');
  await pollUntil('the other has told', () => (told() >= 5 ? true : undefined));
  assert.equal(told(), 5);
});

test('a restored copy sends no messages until it is told to', async (t) => {
  const { folder, data, mail, startHere, addMail } = await openSite(t);
  const server = await startHere();
  await addMail('ops');
  const file = join(folder, 'one.backup');
  await saveBackup(server.url, file, 'a passphrase, long');
  await server.stop();
  const copy = join(folder, 'copy');
  const { channels_paused: paused } = await restore(copy, file, { passphrase: 'a passphrase, long' });
  assert.deepEqual(paused, ['ops']);
  const here = await startHere(copy);
  await ask(here.url, 'holder', 'a');
  const list = async () => (await askBerth<Listed>(copy, ['notify', 'list'])).channels[0]?.state;
  assert.equal(await list(), 'paused');
  assert.match((await runBerth(copy, ['doctor'])).stdout, /The channel "ops" is paused/);
  assert.match((await runBerth(copy, ['notify', 'resume', 'ops'])).stdout, /is changed/);
  await ask(here.url, 'b');
  await mail.arrived(1);
  assert.match(mail.mails[0]?.headers.get('subject') ?? '', /b was refused/);
  await pollUntil('it is noted', async () => ((await list()) === 'ok' ? true : undefined));
  assert.equal((await askBerth<Listed>(data, ['notify', 'list'])).channels[0]?.state, 'untried');
});
