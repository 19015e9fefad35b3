import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { NotSentError } from '../../packages/client/src/environment.ts';
import { acquire } from '../../packages/client/src/main.ts';
import { explainFailure, type Failure } from '../../packages/client/src/node/explain-failure.ts';
import { makeTestCertificate } from '../support/certificate.ts';
import { temporaryFolder } from '../support/server-process.ts';

const CLIENT = import.meta.resolve('../../packages/client/src/main.ts');
const CA = makeTestCertificate({ commonName: 'authority' });
const SERVER = makeTestCertificate({ commonName: 'server', issuer: CA });
const PROGRAM = { ca: CA.cert, ...makeTestCertificate({ commonName: 'program', issuer: CA }) };

const URL = 'http://berth.test/';

function failure(message: string, facts: Partial<Failure> = {}): Failure {
  return Object.assign(new Error(message), facts);
}

test('a request that found no connection certainly did not arrive', () => {
  for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH']) {
    assert.ok(explainFailure(failure(`connect ${code}`, { code }), URL) instanceof NotSentError, code);
  }
});

test('any other may have arrived', () => {
  for (const [error, reason] of [
    [failure('socket hang up', { code: 'ECONNRESET' }), 'ECONNRESET'],
    [failure('no answer in time'), 'no answer in time'],
  ] as const) {
    const explained = explainFailure(error, URL);
    assert.ok(!(explained instanceof NotSentError), error.message);
    assert.equal(explained.message, reason);
  }
});

test('TLS that fails has advice of its own, and nothing was sent', () => {
  for (const [code, advice] of [
    ['ERR_SSL_WRONG_VERSION_NUMBER', /begin it with http:/],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', /as "ca".*NODE_EXTRA_CA_CERTS/],
    ['SELF_SIGNED_CERT_IN_CHAIN', /as "ca"/],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', /as "ca"/],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /as "ca"/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /name of the host/],
  ] as const) {
    const explained = explainFailure(failure('TLS', { code }), URL);
    assert.ok(explained instanceof NotSentError, code);
    assert.match((explained as { advice?: string }).advice ?? '', advice);
  }
});

test('a server without TLS is told apart from one that is away, and the other way round', async (t) => {
  const plain = createServer().listen(0, '127.0.0.1');
  const secure = createTlsServer(SERVER).listen(0, '127.0.0.1');
  t.after(() => plain.close());
  t.after(() => secure.close());
  await Promise.all([once(plain, 'listening'), once(secure, 'listening')]);
  await assert.rejects(acquire({ server: `https://${addressOf(plain)}`, product: 'demo' }), {
    code: 'unreachable',
    advice: /^There is no TLS at the address/,
  });
  await assert.rejects(acquire({ server: `http://${addressOf(secure)}`, product: 'demo' }), {
    code: 'unreachable',
    advice: /begin its address with https:/,
  });
});

describe('a server with a private authority that requires certificates', () => {
  const folder = temporaryFolder({ after });
  const files = { ca: join(folder, 'ca.pem'), cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  /** The name in the certificate of the program, and the path. */
  const requests: string[] = [];
  const server = createTlsServer({ ...SERVER, ca: CA.cert, requestCert: true }, (request, response) => {
    const path = request.url?.split('/').at(-1);
    requests.push(`${(request.socket as TLSSocket).getPeerCertificate().subject.CN} ${path}`);
    response.end(path === 'unregister' ? 'user_unregistered' : '{"slot_ends_in_seconds":600}');
  });
  const options = () => ({ server: `https://${addressOf(server)}`, product: 'demo' });
  before(async () => {
    for (const [name, text] of Object.entries(PROGRAM)) writeFileSync(files[name as 'ca'], text);
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  after(() => server.close());

  test('is reached with certificates as PEM or as files, which are read again', async () => {
    assert.equal(await (await acquire({ ...options(), ...PROGRAM })).release(), true);
    const slot = await acquire({ ...options(), ...files });
    const renewed = makeTestCertificate({ commonName: 'renewed', issuer: CA });
    for (const name of ['cert', 'key'] as const) writeFileSync(files[name], renewed[name]);
    assert.equal(await slot.release(), true);
    const both = ['register', 'unregister'];
    assert.deepEqual(requests.splice(0), [
      ...both.map((path) => `program ${path}`),
      'program register',
      'renewed unregister',
    ]);
    rmSync(files.cert);
    await assert.rejects(acquire({ ...options(), ...files }), {
      code: 'invalid_option',
      message: /the file of "cert" cannot be read \(ENOENT\)/,
    });
    writeFileSync(files.cert, renewed.cert);
  });

  test('gets the slot of a program that calls process.exit()', async () => {
    const code = `import { acquire } from ${JSON.stringify(CLIENT)};
      await acquire(${JSON.stringify({ ...options(), ...files })});
      process.exit(3);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' });
    assert.deepEqual(await once(child, 'close'), [3, null]);
    assert.deepEqual(requests.splice(0), ['renewed register', 'renewed unregister']);
  });

  test('is explained to programs without the right certificates', async () => {
    const asks = (tls: Parameters<typeof acquire>[0] | object) => acquire({ ...options(), ...tls });
    await assert.rejects(asks({}), { code: 'unreachable', advice: /Give its certificate as "ca"/ });
    await assert.rejects(asks({ ca: PROGRAM.ca }), { code: 'unreachable', advice: /give "cert" and "key"/i });
    const wrong = { code: 'invalid_option', message: /certificates cannot be used/ };
    await assert.rejects(asks({ ...PROGRAM, key: CA.key }), wrong);
    await assert.rejects(asks({ ca: PROGRAM.key }), wrong);
    assert.deepEqual(requests, []);
  });
});

function addressOf(server: Server): string {
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
