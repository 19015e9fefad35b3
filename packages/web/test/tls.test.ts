import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { openCertificates } from '@berth/server/services/certificates/certificates';
import { pino } from 'pino';
import {
  type Certificate,
  type CertificateOptions,
  makeTestCertificate,
} from '../../../test/support/certificate.ts';
import { pollUntil } from '../../../test/support/poll.ts';
import { readAnswerFrom, readToEnd } from '../../../test/support/raw-socket.ts';
import { temporaryFolder } from '../../../test/support/server-process.ts';
import { openTestApp } from '../../../test/support/test-app.ts';
import type { AnswerRoute, App } from '../src/app.ts';
import type { Peer } from '../src/http-request.ts';
import { listen } from '../src/listen.ts';

const GET = 'GET /api/v4/health HTTP/1.1\r\nHost: localhost\r\n\r\n';
const REGISTER = '{"product":"cad","user":"ann"}';
/** In the form that the fast lane reads. */
const POST = GET.replace('GET /api/v4/health', 'POST /api/v4/register').replace(
  '\r\n\r\n',
  `\r\nContent-Length: ${REGISTER.length}\r\n\r\n${REGISTER}`,
);

interface ServerOptions {
  readonly first?: Certificate;
  readonly clientCa?: string;
  readonly trustedProxies?: readonly string[];
}

/** The app over TLS, and the peers that it has seen. */
async function openTls(t: TestContext, options: ServerOptions = {}) {
  const { clientCa, trustedProxies = [], first = makeTestCertificate() } = options;
  const folder = temporaryFolder(t);
  const files = {
    cert: join(folder, 'cert.pem'),
    key: join(folder, 'key.pem'),
    clientCa: clientCa === undefined ? '' : join(folder, 'ca.pem'),
  };
  const write = ({ cert, key }: Certificate) => {
    writeFileSync(files.cert, cert);
    writeFileSync(files.key, key);
  };
  write(first);
  if (clientCa !== undefined) writeFileSync(files.clientCa, clientCa);
  const { app, clock } = await openTestApp(t);
  const peers: Peer[] = [];
  const watch =
    (answer: AnswerRoute): AnswerRoute =>
    (request, peer) => {
      peers.push(peer);
      return answer(request, peer);
    };
  const watched: App = {
    ...app,
    answer: watch(app.answer),
    findPlain: (path) => watch(app.findPlain(path) as AnswerRoute),
  };
  const { readWall } = clock;
  const certificates = openCertificates(files, { log: pino({ level: 'silent' }), readWall, warnDays: 14 });
  assert.ok(certificates !== null);
  const bounds = { maxConnections: 100, maxConnectionsPerAddress: 100, trustedProxies };
  const place = { host: '127.0.0.1', port: 0, certificates, clock };
  const { url, stop } = await listen(watched, { ...place, ...bounds });
  const sockets: TLSSocket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    return stop();
  });
  const port = Number(new URL(url).port);
  const shakeHands = async (options: ConnectionOptions = {}) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options });
    sockets.push(socket);
    await once(socket, 'secureConnect');
    return socket;
  };
  return { url, port, first, files, write, certificates, peers, shakeHands, stop };
}

type TestServer = Awaited<ReturnType<typeof openTls>>;

function fingerprintOf({ cert }: Certificate): string {
  return new X509Certificate(cert).fingerprint256;
}

/** The peer that the server sees for a request with a certificate, whoever reads it there. */
async function peerWith(server: TestServer, shown?: Certificate, headers = ''): Promise<Peer> {
  for (const request of [GET, POST]) {
    const socket = await server.shakeHands(shown ?? {});
    socket.write(request.replace('\r\n\r\n', `\r\n${headers}\r\n`));
    assert.equal((await readAnswerFrom(socket)).status, 200);
  }
  const [node, lane] = server.peers.slice(-2);
  assert.deepEqual(node, lane);
  return lane as Peer;
}

const TABLE = '/proc/net/tcp';
const NO_TABLE = existsSync(TABLE) ? false : 'needs the table of connections that Linux has';

/** Whether the server's end of the connection has the timer of probes. */
function isProbed(port: number, { localPort }: TLSSocket): boolean {
  const [own, other] = [port, localPort].map((one) =>
    Number(one).toString(16).toUpperCase().padStart(4, '0'),
  );
  const end = new RegExp(`: \\w+:${own} \\w+:${other} \\w+ \\w+:\\w+ 02:`);
  return end.test(readFileSync(TABLE, 'latin1'));
}

describe('over TLS', () => {
  test('everything is answered as without it, and the address is https', async (t) => {
    const { url, first, peers } = await openTls(t);
    assert.match(url, /^https:\/\/127\.0\.0\.1:\d+$/);
    const asked = request(`${url}/api/v4/health`, { ca: first.cert, agent: new Agent() }).end();
    const [answer] = await once(asked, 'response');
    assert.equal(answer.statusCode, 200);
    answer.resume();
    assert.deepEqual(peers, [{ address: '127.0.0.1', isControl: false, isSecure: true, certificate: null }]);
  });

  test('requests on one connection are answered in order, whoever reads them', async (t) => {
    const { shakeHands, peers } = await openTls(t);
    const socket = await shakeHands();
    socket.write(POST);
    socket.write(POST + GET.replace('/api/v4/health', '/api/v4/nothing') + POST);
    socket.write(GET.replace('Host', 'Connection: close\r\nHost'));
    const statuses = Array.from(
      (await readToEnd(socket)).matchAll(/HTTP\/1\.1 (\d+)/g),
      ([, status]) => status,
    );
    assert.deepEqual(statuses, ['200', '200', '404', '200', '200']);
    assert.equal(peers.length, 5);
  });

  test('a client that may have to wait is probed, in case it vanishes', {
    skip: NO_TABLE,
  }, async (t) => {
    const { shakeHands, port } = await openTls(t);
    // The second form is left to Node.
    for (const form of ['', 'TE: trailers\r\n']) {
      const socket = await shakeHands();
      socket.write(POST.replace('\r\n', `\r\n${form}`));
      await once(socket, 'data');
      assert.equal(isProbed(port, socket), false);
      socket.write(POST.replace('\r\n', `\r\nPrefer: wait=5\r\n${form}`));
      await pollUntil('probes', () => isProbed(port, socket) || undefined);
    }
  });

  test('a pipeline that goes on to Node while its client reads slowly is answered to the end', async (t) => {
    const { shakeHands } = await openTls(t);
    const page = GET.replace('/api/v4/health', '/api/v4/docs').repeat(40);
    const last = GET.replace('Host', 'Connection: close\r\nHost');
    for (const inLane of [0, 30]) {
      const socket = (await shakeHands()).pause();
      // More than the server decrypts at once.
      socket.write(POST.repeat(inLane) + page + GET.repeat(1000) + last);
      const other = await shakeHands();
      other.write(POST);
      await readAnswerFrom(other);
      const answers = (await readToEnd(socket.resume())).matchAll(/HTTP\/1\.1 200 OK/g);
      assert.equal([...answers].length, inLane + 1041);
    }
  });

  test('nothing older than TLS 1.2 is spoken, before and after a change', async (t) => {
    const { shakeHands, write, certificates } = await openTls(t);
    const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    const refuse = () => assert.rejects(shakeHands(old), /alert protocol version/);
    await refuse();
    assert.equal((await shakeHands({ maxVersion: 'TLSv1.2' })).getProtocol(), 'TLSv1.2');
    write(makeTestCertificate());
    await certificates.refresh();
    await refuse();
  });

  test('keys are generated for one connection only, before and after a change', async (t) => {
    const signer = makeTestCertificate();
    const first = makeTestCertificate({ issuer: signer, keyType: 'rsa' });
    const { shakeHands, write, certificates } = await openTls(t, { first });
    const kept = { maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256:AES256-SHA256:AES128-SHA' } as const;
    const refuse = () => assert.rejects(shakeHands(kept), /handshake failure/);
    await refuse();
    await assert.rejects(shakeHands({ maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-SHA256' }));
    const ours = {
      maxVersion: 'TLSv1.2',
      ciphers: 'ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384',
    };
    const { name } = (await shakeHands(ours as ConnectionOptions)).getCipher();
    assert.equal(name, 'ECDHE-RSA-AES256-GCM-SHA384', "the server's choice, not the client's");
    assert.equal((await shakeHands()).getProtocol(), 'TLSv1.3');
    write(makeTestCertificate({ issuer: signer, keyType: 'rsa' }));
    await certificates.refresh();
    await refuse();
  });

  test('every answer tells browsers to stay with TLS', async (t) => {
    const { shakeHands } = await openTls(t);
    const requests = [
      GET,
      POST,
      GET.replace('Host: localhost', 'X: y'),
      'nonsense\r\n\r\n',
      'CONNECT x:1 HTTP/1.1\r\n\r\n',
    ];
    for (const text of requests) {
      const socket = await shakeHands();
      socket.write(text);
      const { headers } = await readAnswerFrom(socket);
      assert.match(
        headers.get('strict-transport-security') ?? '',
        /^max-age=31536000; includeSubDomains$/,
        text,
      );
    }
  });

  test('what is not TLS is cut, and the server continues', async (t) => {
    const { port, shakeHands } = await openTls(t);
    const socket = connectTcp(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.resume().write(GET);
    await once(socket, 'close');
    await shakeHands();
  });

  // Otherwise the handshake would time out after ten seconds.
  test('a handshake under way does not delay a stop', { timeout: 8000 }, async (t) => {
    const { port, stop, shakeHands } = await openTls(t);
    const socket = connectTcp(port, '127.0.0.1')
      .on('error', () => {})
      .resume();
    await once(socket, 'connect');
    (await shakeHands()).destroy();
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await Promise.all([stop(), closed]);
  });
});

describe('another certificate', () => {
  test('is shown to new connections, and open ones continue', async (t) => {
    const { first, write, certificates, shakeHands } = await openTls(t);
    const open = await shakeHands();
    assert.equal(open.getPeerCertificate().fingerprint256, fingerprintOf(first));
    const next = makeTestCertificate();
    write(next);
    await certificates.refresh();
    assert.equal((await shakeHands()).getPeerCertificate().fingerprint256, fingerprintOf(next));
    open.write(POST);
    assert.equal((await readAnswerFrom(open)).status, 200);
  });

  test('that does not match its key leaves the previous one', async (t) => {
    const { first, files, certificates, shakeHands } = await openTls(t);
    writeFileSync(files.cert, makeTestCertificate().cert);
    await certificates.refresh();
    assert.equal((await shakeHands()).getPeerCertificate().fingerprint256, fingerprintOf(first));
  });
});

describe('a client certificate', () => {
  const authority = makeTestCertificate({ commonName: 'Our authority' });
  const issue = (facts: Partial<CertificateOptions> = {}) =>
    makeTestCertificate({ issuer: authority, names: ['laptop-7.example'], commonName: 'laptop-7', ...facts });

  test('identifies the client when a trusted CA signed it', async (t) => {
    const server = await openTls(t, { clientCa: authority.cert });
    assert.equal((await peerWith(server, issue())).certificate, 'laptop-7');
    assert.equal((await peerWith(server, issue({ commonName: '' }))).certificate, 'laptop-7.example');
    const odd = await peerWith(server, issue({ commonName: `a\n\u0007${'x'.repeat(60)}` }));
    assert.equal(odd.certificate, `a??${'x'.repeat(60)}`);
  });

  test('does not count when it is missing, from another CA, expired or not valid yet', async (t) => {
    const server = await openTls(t, { clientCa: authority.cert });
    const impostor = makeTestCertificate({ commonName: 'Our authority' });
    const over = { notAfter: new Date('2001-01-01T00:00:00Z') };
    const early = { notBefore: new Date('2099-01-01T00:00:00Z') };
    const shown = [undefined, makeTestCertificate(), issue({ issuer: impostor }), issue(over), issue(early)];
    for (const certificate of shown) {
      const { address, isSecure, certificate: name } = await peerWith(server, certificate);
      assert.deepEqual([address, isSecure, name], ['127.0.0.1', true, null]);
    }
  });

  test('is not requested when no CA is trusted', async (t) => {
    const server = await openTls(t);
    assert.equal((await peerWith(server, issue())).certificate, null);
  });

  test('is checked against the current CA file', async (t) => {
    const server = await openTls(t, { clientCa: authority.cert });
    const shown = issue();
    assert.equal((await peerWith(server, shown)).certificate, 'laptop-7');
    const [named, unnamed] = [await server.shakeHands({ ...shown }), await server.shakeHands()];
    const ended = once(named, 'close');
    writeFileSync(server.files.clientCa, makeTestCertificate().cert);
    await server.certificates.refresh();
    await ended;
    assert.equal(unnamed.destroyed, false, 'who has shown nothing goes on');
    assert.equal((await peerWith(server, shown)).certificate, null);
  });

  test('of a proxy is not that of its clients', async (t) => {
    const server = await openTls(t, { clientCa: authority.cert, trustedProxies: ['127.0.0.1'] });
    assert.equal((await peerWith(server, issue())).certificate, 'laptop-7');
    const client = await peerWith(server, issue(), 'X-Forwarded-For: 203.0.113.7\r\n');
    assert.deepEqual([client.address, client.isSecure, client.certificate], ['203.0.113.7', false, null]);
  });
});
