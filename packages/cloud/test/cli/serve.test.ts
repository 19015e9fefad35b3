import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { connect } from 'node:tls';
import { isSignedBy, SIGNATURE_HEADER } from '@berth/protocol/cloud/vendor-signature';
import { makeTestCertificate } from '../../../../test/support/certificate.ts';
import { createTestTerminal } from '../../../../test/support/cloud/cloud-command-line.ts';
import { cloudFolder } from '../../../../test/support/cloud/test-cloud.ts';
import { readAnswerFrom, readToEnd } from '../../../../test/support/raw-socket.ts';
import { startCloud } from '../../src/cli/serve.ts';
import { systemClock } from '../../src/clock.ts';
import { openDataFolder } from '../../src/store/data-folder.ts';

const GET = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n';

/** As `cloud serve` does it, over TLS on a free port. */
async function startHere(t: TestContext) {
  const path = cloudFolder(t);
  const { cert, key } = makeTestCertificate();
  const flags = { 'tls-cert': join(path, 'tls-cert.pem'), 'tls-key': join(path, 'tls-key.pem') };
  writeFileSync(flags['tls-cert'], cert);
  writeFileSync(flags['tls-key'], key);
  const folder = openDataFolder(path);
  const terminal = createTestTerminal();
  const { url, stop } = await startCloud({
    folder,
    flags,
    clock: systemClock,
    terminal,
    defaultPort: 0,
    warnings: [],
  });
  t.after(async () => {
    await stop();
    folder.close();
  });
  const shakeHands = async () => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), rejectUnauthorized: false });
    t.after(() => socket.destroy());
    await once(socket, 'secureConnect');
    return socket;
  };
  return { shakeHands, publicKey: folder.keyRing.read().current };
}

describe('a running cloud', () => {
  test('signs every answer, also to what is not a valid request', async (t) => {
    const { shakeHands, publicKey } = await startHere(t);
    for (const [text, status] of [
      [GET, 200],
      ['OPTIONS /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 204],
      [GET.replace('Host: a', 'X: y'), 400],
      [GET.replace('Host: a', 'Host: a\r\nHost: b'), 400],
      [GET.replace('/health', '\\'), 400],
      ['CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 400],
      ['nonsense\r\n\r\n', 400],
      [GET.replace('Host', `X: ${'x'.repeat(20_000)}\r\nHost`), 431],
    ] as const) {
      const socket = await shakeHands();
      socket.write(text);
      const answer = await readAnswerFrom(socket);
      assert.equal(answer.status, status, text.slice(0, 40));
      const signature = answer.headers.get(SIGNATURE_HEADER) ?? '';
      assert.ok(isSignedBy(publicKey, Buffer.from(answer.text), signature), text.slice(0, 40));
      assert.ok(answer.headers.has('strict-transport-security'));
    }
  });

  test('answers a pipeline whose client reads slowly to the end', async (t) => {
    const { shakeHands } = await startHere(t);
    const socket = (await shakeHands()).pause();
    const last = GET.replace('Host', 'Connection: close\r\nHost');
    // More than Node decrypts at once, and more than the client takes unread.
    socket.write(GET.replace('/health', '/portal').repeat(200) + GET.repeat(1000) + last);
    const other = await shakeHands();
    other.write(GET);
    await readAnswerFrom(other);
    const answers = (await readToEnd(socket.resume())).matchAll(/HTTP\/1\.1 200 OK/g);
    assert.equal([...answers].length, 1201);
  });
});
