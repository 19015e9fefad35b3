import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type ConnectionOptions, connect } from 'node:tls';
import { promisify } from 'node:util';
import { type CertificateOptions, makeCertificate } from './certificate.ts';
import { temporaryFolder } from './server-process.ts';

const NAMES = ['localhost', 'cloud.example', '127.0.0.1', '::1'];

/** Valid for as long as this test will exist. */
function makeTestCertificate(facts: Partial<CertificateOptions> = {}) {
  return makeCertificate({
    names: NAMES,
    notBefore: new Date('2000-01-01T00:00:00Z'),
    notAfter: new Date('2100-12-31T23:59:59Z'),
    ...facts,
  });
}

function parse(facts: Partial<CertificateOptions> = {}): X509Certificate {
  return new X509Certificate(makeTestCertificate(facts).cert);
}

async function listenWith(t: TestContext, facts: Partial<CertificateOptions> = {}) {
  const certificate = makeTestCertificate(facts);
  const server = createServer(certificate, (_request, response) => response.end('trusted'));
  server.on('tlsClientError', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { ...certificate, port: (server.address() as AddressInfo).port };
}

/** Whether the client trusts the server; otherwise it fails with the reason. */
async function shakeHands(options: ConnectionOptions): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', ...options });
  try {
    await once(socket, 'secureConnect');
    return socket.authorized;
  } finally {
    socket.destroy();
  }
}

describe('what a certificate says', () => {
  test('it is valid for its host names', () => {
    const certificate = parse();
    assert.equal(certificate.checkHost('localhost'), 'localhost');
    assert.equal(certificate.checkHost('cloud.example'), 'cloud.example');
    assert.equal(certificate.checkHost('other.example'), undefined);
  });

  test('it is valid for its addresses, of both kinds', () => {
    const certificate = parse({ names: ['127.0.0.1', '::1', '2001:db8::7:1'] });
    for (const address of ['127.0.0.1', '::1', '2001:db8::7:1', '2001:db8:0:0:0:0:7:1']) {
      assert.ok(certificate.checkIP(address), address);
    }
    assert.equal(certificate.checkIP('127.0.0.2'), undefined);
    assert.equal(certificate.checkHost('127.0.0.1'), undefined);
  });

  test('it begins and ends as requested, before and after the middle of the century', () => {
    for (const year of ['1949', '1950', '2029', '2049', '2050']) {
      const notBefore = new Date(`${year}-01-02T03:04:05Z`);
      const notAfter = new Date(`${year}-12-31T23:59:59Z`);
      const certificate = parse({ notBefore, notAfter });
      assert.deepEqual([certificate.validFromDate, certificate.validToDate], [notBefore, notAfter]);
    }
  });

  test('it is a self-signed authority', () => {
    const { cert, key } = makeTestCertificate({ commonName: 'Löwe & Co.' });
    const certificate = new X509Certificate(cert);
    assert.equal(certificate.subject, 'CN=Löwe & Co.');
    assert.ok(certificate.ca);
    assert.ok(certificate.checkIssued(certificate));
    assert.ok(certificate.verify(certificate.publicKey));
    assert.ok(!certificate.verify(parse().publicKey));
    assert.match(key, /^-----BEGIN PRIVATE KEY-----\n/);
  });

  test('it has room for many names', () => {
    const names = Array.from({ length: 400 }, (_, index) => `host-${index}.example`);
    assert.equal(parse({ names }).checkHost('host-399.example'), 'host-399.example');
  });
});

describe('whom a TLS client trusts', () => {
  test('a server with the given certificate', async (t) => {
    const { port, cert } = await listenWith(t);
    assert.equal(await shakeHands({ port, ca: cert }), true);
    assert.equal(await shakeHands({ port, ca: cert, servername: 'cloud.example' }), true);
  });

  test('no unknown server', async (t) => {
    const { port } = await listenWith(t);
    const stranger = makeTestCertificate({ commonName: 'Stranger' }).cert;
    await assert.rejects(shakeHands({ port }), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    await assert.rejects(shakeHands({ port, ca: stranger }), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  });

  test('no certificate that has expired or is not valid yet', async (t) => {
    const over = await listenWith(t, { notAfter: new Date('2001-01-01T00:00:00Z') });
    await assert.rejects(shakeHands({ port: over.port, ca: over.cert }), { code: 'CERT_HAS_EXPIRED' });
    const early = await listenWith(t, { notBefore: new Date('2100-01-01T00:00:00Z') });
    await assert.rejects(shakeHands({ port: early.port, ca: early.cert }), { code: 'CERT_NOT_YET_VALID' });
  });

  test('no certificate for another name', async (t) => {
    const { port, cert } = await listenWith(t, { names: ['other.example', '127.0.0.2'] });
    const misnamed = { code: 'ERR_TLS_CERT_ALTNAME_INVALID' };
    await assert.rejects(shakeHands({ port, ca: cert }), misnamed);
    await assert.rejects(shakeHands({ port, ca: cert, servername: 'localhost' }), misnamed);
  });

  test('through NODE_EXTRA_CA_CERTS: fetch in another process', async (t) => {
    const { port, cert } = await listenWith(t);
    const file = join(temporaryFolder(t), 'ca.pem');
    writeFileSync(file, cert);
    const program = `process.stdout.write(await (await fetch('https://127.0.0.1:${port}')).text())`;
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: file };
    const args = ['--input-type=module', '--eval', program];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    assert.equal(stdout, 'trusted');
  });
});
