import assert from 'node:assert/strict';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { makeCertificate } from '../../../../test/support/certificate.ts';
import { openMailReceiver } from '../../../../test/support/mail-receiver.ts';
import { ConfigError } from '../../src/config.ts';
import type { MailTarget } from '../../src/core/notify/channel.ts';
import { createMail } from '../../src/receivers/mail.ts';
import { refuseAddresses } from '../../src/receivers/refused-addresses.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const MESSAGE = {
  id: '1.2.ops',
  severity: 'critical',
  title: 'Wörld is full',
  lines: ['One <b>&amp;</b>.', 'Two.'],
} as const;

function certify(names: readonly string[] = ['127.0.0.1']) {
  const [notBefore, notAfter] = [new Date(Date.now() - DAY_MS), new Date(Date.now() + DAY_MS)];
  return makeCertificate({ names, notBefore, notAfter });
}

interface Wish extends Partial<MailTarget> {
  readonly ca?: string;
  readonly readCa?: () => never;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

function mailTo(port: number, wish: Wish = {}) {
  const { ca = null, timeoutMs = 5000, signal = new AbortController().signal } = wish;
  const { readCa = () => ca, ...target } = wish;
  return createMail({
    target: {
      kind: 'mail',
      to: ['ops@example.com', 'it@example.com'],
      from: 'berth@example.com',
      host: '127.0.0.1',
      port,
      security: 'starttls',
      user: null,
      password: null,
      ...target,
    },
    readCa,
    refused: refuseAddresses({ privateAddresses: true }),
    hostname: 'lic-01',
    connectTimeoutMs: timeoutMs,
    timeoutMs,
    signal,
  });
}

/** A server that offers STARTTLS with this certificate. */
async function openTls(t: TestContext, certificate = certify()) {
  return { ...(await openMailReceiver(t, certificate)), ca: certificate.cert };
}

describe('a mail', () => {
  test('is plain text to all recipients, over STARTTLS', async (t) => {
    const { port, mails, ca } = await openTls(t);
    assert.deepEqual(await mailTo(port, { ca }).send(MESSAGE), { kind: 'delivered', status: 250 });
    const [mail] = mails;
    assert.deepEqual([mail?.isSecure, mail?.from], [true, 'berth@example.com']);
    assert.deepEqual(mail?.to, ['ops@example.com', 'it@example.com']);
    assert.match(mail?.headers.get('content-type') ?? '', /^text\/plain; charset=utf-8/);
    assert.match(mail?.headers.get('subject') ?? '', /^=\?UTF-8\?Q\?=5BBerth=5D_W=C3=B6rld_is_full\?=$/);
    assert.equal(mail?.headers.get('message-id'), '<1.2.ops@lic-01>');
    assert.equal(mail?.headers.get('auto-submitted'), 'auto-generated');
    assert.match(mail?.text ?? '', /\r\nOne <b>&amp;<\/b>\.\r\n\r\nTwo\.\r\n/);
  });

  test('can be sent over TLS from the start, with a user and a password', async (t) => {
    const certificate = certify();
    const seen: unknown[] = [];
    const { port, mails } = await openMailReceiver(t, {
      ...certificate,
      secure: true,
      authOptional: false,
      onAuth({ username, password }, _, done) {
        seen.push([username, password]);
        done(null, { user: username ?? '' });
      },
    });
    const login = { security: 'tls', ca: certificate.cert, user: 'berth', password: 'päss word' } as const;
    assert.equal((await mailTo(port, login).send(MESSAGE)).kind, 'delivered');
    assert.deepEqual([seen, mails[0]?.user], [[['berth', 'päss word']], 'berth']);
  });

  test('is not sent over a connection that is not encrypted, unless that is wanted', async (t) => {
    const { port, mails } = await openMailReceiver(t, { hideSTARTTLS: true, disabledCommands: ['STARTTLS'] });
    const refused = await mailTo(port).send(MESSAGE);
    const reason = 'it offers no encrypted connection ("500 Error: command not recognized")';
    assert.deepEqual(refused, { kind: 'failed', reason });
    assert.equal(mails.length, 0);
    assert.equal((await mailTo(port, { security: 'none' }).send(MESSAGE)).kind, 'delivered');
    assert.equal(mails[0]?.isSecure, false);
  });

  test('is not sent to a server with a certificate that no one vouches for', async (t) => {
    const { port, mails } = await openTls(t);
    const unknown = await mailTo(port).send(MESSAGE);
    const reason = 'it cannot be reached (DEPTH_ZERO_SELF_SIGNED_CERT)';
    assert.deepEqual(unknown, { kind: 'failed', reason });
    const other = await openTls(t, certify(['mail.example']));
    const misnamed = await mailTo(other.port, { ca: other.ca }).send(MESSAGE);
    assert.match(JSON.stringify(misnamed), /ERR_TLS_CERT_ALTNAME_INVALID/);
    assert.deepEqual([mails.length, other.mails.length], [0, 0]);
  });

  test('says what the server answered', async (t) => {
    const certificate = certify();
    const { port } = await openMailReceiver(t, {
      ...certificate,
      onAuth: (_, __, done) => done(new Error('Who are you?')),
      onRcptTo: (_, __, done) => done(Object.assign(new Error('No such person'), { responseCode: 550 })),
    });
    const ca = certificate.cert;
    const login = await mailTo(port, { ca, user: 'u', password: 'hunter2' }).send(MESSAGE);
    assert.deepEqual(login, { kind: 'failed', reason: 'it answered "535 Who are you?"', status: 535 });
    const reason = 'it answered "550 No such person"';
    assert.deepEqual(await mailTo(port, { ca }).send(MESSAGE), { kind: 'failed', reason, status: 550 });
  });

  test('says whom it did not reach', async (t) => {
    const certificate = certify();
    const { port, mails } = await openMailReceiver(t, {
      ...certificate,
      onRcptTo: ({ address }, _, done) => done(address.startsWith('it') ? new Error('Who?') : null),
    });
    const delivery = await mailTo(port, { ca: certificate.cert }).send(MESSAGE);
    assert.deepEqual(delivery, { kind: 'delivered', status: 250, remark: 'it refused it@example.com' });
    assert.deepEqual(mails[0]?.to, ['ops@example.com']);
  });

  test('is sent without its files to a server that refuses them', async (t) => {
    const texts: string[] = [];
    const { port } = await openMailReceiver(t, {
      disabledCommands: ['STARTTLS'],
      onData(stream, _, done) {
        let text = '';
        stream.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        stream.on('end', () => {
          texts.push(text);
          const large = Object.assign(new Error('Too large'), { responseCode: 552 });
          done(text.includes('a.csv') ? large : null);
        });
      },
    });
    const mail = mailTo(port, { security: 'none' });
    const delivery = await mail.send({ ...MESSAGE, files: [{ name: 'a.csv', content: 'a,b' }] });
    assert.deepEqual([delivery.kind, texts.length], ['delivered', 2]);
    assert.match(texts[1] ?? '', /refused this mail with its files/);
  });

  test('has an id of its own for every channel', async (t) => {
    const { port, mails, ca } = await openTls(t);
    for (const id of ['1.2.büro', '1.2.bäro', '1.2.b ro'])
      await mailTo(port, { ca }).send({ ...MESSAGE, id });
    assert.equal(new Set(mails.map(({ headers }) => headers.get('message-id'))).size, 3);
    assert.equal(mails[0]?.headers.get('message-id'), '<1.2.b_fc_ro@lic-01>');
  });

  test('cannot be given further headers or recipients by names in it', async (t) => {
    const { port, mails, ca } = await openTls(t);
    const title = 'ann\r\nBcc: eve@example.com\r\n\r\nbody was refused';
    await mailTo(port, { ca }).send({ ...MESSAGE, title, lines: ['.\r\nQUIT', '.'] });
    const [mail] = mails;
    assert.deepEqual(mail?.to, ['ops@example.com', 'it@example.com']);
    assert.equal(mail?.headers.has('bcc'), false);
    assert.match(mail?.headers.get('subject') ?? '', /^\[Berth\] ann\\u\{d\}\\u\{a\}Bcc: eve@example\.com/);
  });
});

describe('a mail server that is away', () => {
  test('is not waited for longer than the time limit', async (t) => {
    const hanging = createServer((socket) => socket.on('error', () => {}));
    await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', resolve));
    t.after(() => hanging.close());
    const { port } = hanging.address() as AddressInfo;
    const late = await mailTo(port, { timeoutMs: 100 }).send(MESSAGE);
    assert.deepEqual(late, { kind: 'failed', reason: 'it did not answer in time' });
    const control = new AbortController();
    const stopped = mailTo(port, { signal: control.signal }).send(MESSAGE);
    control.abort();
    assert.deepEqual(await stopped, { kind: 'stopping' });
  });

  test('is left with no connection, even after it has the mail', async (t) => {
    const opened = Promise.withResolvers<Socket>();
    const slow = createServer((socket) => {
      const say = (text: string) => socket.write(`${text}\r\n`);
      say('220 slow');
      socket.on('error', () => {});
      // To the mail it answers without an end.
      const timer = setInterval(() => socket.writable && isTold && say('250-wait'), 20);
      let isTold = false;
      socket.once('close', () => clearInterval(timer));
      socket.on('data', (chunk) => {
        const text = chunk.toString();
        isTold ||= text.startsWith('DATA');
        if (text.startsWith('DATA')) say('354 go on');
        else if (/^(?:EHLO|MAIL|RCPT)/.test(text)) say('250 ok');
      });
      opened.resolve(socket);
    });
    await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
    t.after(() => slow.close());
    const { port } = slow.address() as AddressInfo;
    const late = mailTo(port, { timeoutMs: 300, security: 'none' }).send(MESSAGE);
    const socket = await opened.promise;
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    assert.deepEqual(await late, { kind: 'failed', reason: 'it did not answer in time' });
    await closed;
  });

  test('is not asked by a server that stops', async (t) => {
    const { port, mails } = await openMailReceiver(t, { disabledCommands: ['STARTTLS'] });
    const mail = mailTo(port, { signal: AbortSignal.abort(), security: 'none' });
    assert.deepEqual(await mail.send(MESSAGE), { kind: 'stopping' });
    assert.equal(mails.length, 0);
  });

  test('is not asked if the certificates for it cannot be read', async () => {
    const readCa = () => {
      throw new ConfigError('"mail.caFile" cannot be read.');
    };
    const failed = await mailTo(1, { readCa }).send(MESSAGE);
    assert.deepEqual(failed, { kind: 'failed', reason: '"mail.caFile" cannot be read' });
  });

  test('is told from one that refuses', async () => {
    assert.deepEqual(await mailTo(1).send(MESSAGE), {
      kind: 'failed',
      reason: 'it cannot be reached (ECONNREFUSED)',
    });
  });
});
