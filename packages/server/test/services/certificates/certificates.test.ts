import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { type Certificate, makeTestCertificate } from '../../../../../test/support/certificate.ts';
import { temporaryFolder } from '../../../../../test/support/server-process.ts';
import { DAY_MS, type Instant, instant } from '../../../src/core/nouns/instant.ts';
import { CertificateError } from '../../../src/services/certificates/certificate-files.ts';
import { openCertificates } from '../../../src/services/certificates/certificates.ts';

function fingerprintOf({ cert }: Certificate): string {
  return new X509Certificate(cert).fingerprint256;
}

/** Files with a certificate, and what the server makes of them. */
function openFiles(
  t: TestContext,
  first = makeTestCertificate(),
  now: Instant = instant(Date.UTC(2030, 0, 1)),
) {
  const folder = temporaryFolder(t);
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem'), clientCa: '' };
  const write = ({ cert, key }: Partial<Certificate>) => {
    if (cert !== undefined) writeFileSync(files.cert, cert);
    if (key !== undefined) writeFileSync(files.key, key);
  };
  write(first);
  const log: Record<string, unknown>[] = [];
  const clock = { now };
  const open = (settings = files) => {
    const certificates = openCertificates(settings, {
      log: pino({ level: 'debug' }, { write: (line) => log.push(JSON.parse(line)) }),
      readWall: () => clock.now,
      warnDays: 14,
    });
    assert.ok(certificates !== null);
    const changes: string[] = [];
    certificates.onChange(({ cert }) => changes.push(new X509Certificate(cert).fingerprint256));
    return { ...certificates, changes };
  };
  return { folder, files, write, open, log, clock };
}

/** The text in PEM, with one bit changed at the last place of these bytes. */
function flipBit(pem: string, bytes: Uint8Array): string {
  const [begin = '', end = ''] = pem.match(/-----.+-----/g) ?? [];
  const der = Buffer.from(pem.replace(/-----.+-----/g, ''), 'base64');
  const at = der.lastIndexOf(bytes) + bytes.length - 1;
  der.writeUInt8(der.readUInt8(at) ^ 1, at);
  return `${begin}\n${der.toString('base64')}\n${end}\n`;
}

describe('invalid files', () => {
  const other = makeTestCertificate();
  const own = makeTestCertificate();
  const secret = createPrivateKey(own.key).export({ format: 'jwk' }).d as string;
  const broken = other.cert.replace(/\n[^\n]{20}/, '\n');
  const cases: readonly (readonly [string, Partial<Certificate>, RegExp])[] = [
    ['no certificate', { cert: 'hello' }, /^"tls\.cert": .*cert\.pem does not contain a valid certificate/],
    [
      'a broken certificate',
      { cert: broken },
      /^"tls\.cert": .*cert\.pem does not contain a valid certificate/,
    ],
    ['no key', { key: other.cert }, /^"tls\.key": .*key\.pem does not contain a readable private key\./],
    [
      'another key',
      { key: other.key },
      /^The key in .*key\.pem does not belong to the first certificate in .*cert\.pem\.$/,
    ],
    [
      'a certificate with a changed bit',
      { ...own, cert: flipBit(own.cert, new X509Certificate(own.cert).raw.subarray(-4)) },
      /^A certificate in .*cert\.pem is damaged: its signature is wrong\.$/,
    ],
    [
      'a key with a changed bit',
      { ...own, key: flipBit(own.key, Buffer.from(secret, 'base64url')) },
      /^The key in .* does not belong/,
    ],
    ['another certificate', { cert: other.cert }, /^The key in .* does not belong/],
  ];
  for (const [what, change, message] of cases) {
    test(`${what}: refused at the start with a message that does not show their contents`, (t) => {
      const { write, open } = openFiles(t);
      write(change);
      assert.throws(open, (error: Error) => {
        assert.ok(error instanceof CertificateError);
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /BEGIN|MI[GI]/);
        return true;
      });
    });
  }

  test('that are missing, or contain no CA', (t) => {
    const { files, open } = openFiles(t);
    assert.throws(
      () => open({ ...files, cert: `${files.cert}x` }),
      /^Error: "tls\.cert" cannot be read\. The file \S+x does not exist\.$/,
    );
    const message = /"tls\.clientCa": .* does not contain a valid certificate/;
    assert.throws(() => open({ ...files, clientCa: files.key }), message);
  });

  test('without a certificate there is no TLS', () => {
    const nothing = { cert: '', key: '', clientCa: '' };
    const outside = { log: pino({ level: 'silent' }), readWall: () => instant(0), warnDays: 14 };
    assert.equal(openCertificates(nothing, outside), null);
  });
});

describe('changed files', () => {
  test('are used once, and nothing happens when nothing has changed', async (t) => {
    const { write, open, log } = openFiles(t);
    const { refresh, read, describe: tell, changes } = open();
    await refresh();
    await refresh();
    assert.deepEqual([changes, log], [[], []]);
    const next = makeTestCertificate({ commonName: 'next' });
    write(next);
    await refresh();
    await refresh();
    assert.deepEqual(changes, [fingerprintOf(next)]);
    assert.equal(read().key, next.key);
    assert.equal(tell().subject, 'CN=next');
    assert.deepEqual(
      log.map(({ level, subject, fingerprint256 }) => [level, subject, fingerprint256]),
      [[30, 'CN=next', fingerprintOf(next)]],
    );
  });

  test('that are invalid are reported once, and the previous ones stay', async (t) => {
    const first = makeTestCertificate();
    const { files, write, open, log } = openFiles(t, first);
    const { refresh, read, describe: tell, changes } = open();
    const next = makeTestCertificate();
    write({ cert: next.cert });
    await refresh();
    await refresh();
    assert.equal(log.length, 1);
    assert.equal(log[0]?.level, 50);
    assert.equal(tell().error, log[0]?.error);
    assert.match(String(tell().error), /does not belong to the first certificate/);
    assert.equal(tell().fingerprint256, fingerprintOf(first));
    assert.equal(read().cert, first.cert);
    rmSync(files.key);
    await refresh();
    await refresh();
    assert.equal(log.length, 2);
    assert.match(String(tell().error), /does not exist/);
    write(next);
    await refresh();
    assert.deepEqual(changes, [fingerprintOf(next)]);
    assert.equal(tell().error, null);
  });

  test('back to the ones in force are no change', async (t) => {
    const first = makeTestCertificate();
    const { write, open } = openFiles(t, first);
    const { refresh, describe: tell, changes } = open();
    write({ cert: 'half' });
    await refresh();
    assert.notEqual(tell().error, null);
    write(first);
    await refresh();
    assert.deepEqual([tell().error, changes], [null, []]);
  });

  test('behind a link that is swapped are noticed', async (t) => {
    const { folder, open } = openFiles(t);
    const versions = ['one', 'two'].map((name) => {
      const certificate = makeTestCertificate({ commonName: name });
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'cert.pem'), certificate.cert);
      writeFileSync(join(folder, name, 'key.pem'), certificate.key);
      return certificate;
    });
    const current = join(folder, 'current');
    symlinkSync('one', current);
    const files = { cert: join(current, 'cert.pem'), key: join(current, 'key.pem'), clientCa: '' };
    const { refresh, changes } = open(files);
    await refresh();
    symlinkSync('two', `${current}.new`);
    renameSync(`${current}.new`, current);
    await refresh();
    assert.deepEqual(changes, [fingerprintOf(versions[1] as Certificate)]);
  });

  test('may be those of the client CA', async (t) => {
    const { folder, files, open } = openFiles(t);
    const clientCa = join(folder, 'ca.pem');
    const [before, after] = [makeTestCertificate(), makeTestCertificate()];
    writeFileSync(clientCa, before.cert);
    const { refresh, read, describe: tell, changes } = open({ ...files, clientCa });
    assert.equal(tell().asksClients, true);
    writeFileSync(clientCa, after.cert);
    await refresh();
    assert.equal(changes.length, 1);
    assert.equal(read().ca, after.cert);
  });

  test('with only new permissions are tried again', async (t) => {
    const { files, write, open, log } = openFiles(t);
    const { refresh } = open();
    write({ cert: makeTestCertificate().cert });
    await refresh();
    assert.equal(log.length, 1);
    chmodSync(files.key, 0o400);
    await refresh();
    assert.equal(log.length, 2);
  });
});

describe('an expiring certificate', () => {
  test('is reported once a day, from two weeks before', (t) => {
    const notAfter = new Date(Date.UTC(2030, 5, 30));
    const { open, log, clock } = openFiles(t, makeTestCertificate({ notAfter }));
    const { warnBeforeEnd } = open();
    const warnAt = (daysBefore: number) => {
      clock.now = instant(notAfter.getTime() - daysBefore * DAY_MS);
      warnBeforeEnd();
      return log.length;
    };
    assert.deepEqual([warnAt(15), warnAt(14.001)], [0, 0]);
    assert.deepEqual([warnAt(14), warnAt(13.5), warnAt(13.01)], [1, 1, 1]);
    assert.deepEqual([warnAt(13), warnAt(-1), warnAt(-1.5), warnAt(-2)], [2, 3, 3, 4]);
    assert.deepEqual(
      log.map(({ level, msg }) => [level, msg]),
      [
        [40, 'the TLS certificate expires soon'],
        [40, 'the TLS certificate expires soon'],
        [40, 'the TLS certificate has expired'],
        [40, 'the TLS certificate has expired'],
      ],
    );
    assert.equal(log[0]?.validUntil, notAfter.toISOString());
  });
});
