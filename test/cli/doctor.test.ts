import assert from 'node:assert/strict';
import { chmodSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Finding } from '../../packages/server/src/core/doctor/finding.ts';
import { askBerth, runBerth } from '../support/berth-command.ts';
import { type Certificate, makeTestCertificate } from '../support/certificate.ts';
import { openCloud, publicKey } from '../support/cloud/answering-cloud.ts';
import { pollUntil } from '../support/poll.ts';
import { startServerHere } from '../support/server-here.ts';
import { seedLicenses, temporaryFolder } from '../support/server-process.ts';
import { askDatabase, describeStores } from '../support/stores/test-stores.ts';
import { testLicense } from '../support/test-license.ts';

const PASSWORD = 'a quiet harbour at four';
const DAY_MS = 24 * 60 * 60 * 1000;
const [CERTIFICATE, OTHER] = [makeTestCertificate(), makeTestCertificate()];

/** A busy machine has slow syncs, too, so nothing is concluded from them here. */
const isSlowDisk = (text: string) => /The disk of .* is slow/.test(text);

/** Examines a folder, and returns what was found besides that all is well. */
async function examine(data: string, args: readonly string[] = [], env = {}) {
  const { code, stdout, stderr } = await runBerth(data, ['doctor', '--json', ...args], env);
  assert.equal(stderr, '');
  const { healthy, findings } = JSON.parse(stdout) as { healthy: boolean; findings: readonly Finding[] };
  assert.equal(code, healthy ? 0 : 1);
  for (const { severity, advice } of findings) assert.equal(advice === null, severity === 'ok');
  const wrong = findings.filter(({ severity, text }) => severity !== 'ok' && !isSlowDisk(text));
  return { healthy, findings, wrong };
}

async function prepare(data: string): Promise<void> {
  const server = await startServerHere({ data, args: ['--demo'] });
  await runBerth(data, ['user', 'password', 'admin'], {}, `${PASSWORD}\n`);
  writeFileSync(join(data, 'passphrase'), `${PASSWORD}\n`, { mode: 0o600 });
  await runBerth(data, [
    ...['backup', join(data, 'first.backup')],
    ...['--passphrase-file', join(data, 'passphrase')],
  ]);
  await server.stop();
}

describeStores('a healthy server', (store) => {
  test('has no finding, running or stopped', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    await prepare(data);
    const stopped = await examine(data);
    assert.deepEqual([stopped.healthy, stopped.wrong], [true, []]);
    const server = await startServerHere({ data });
    t.after(() => server.stop());
    const running = await examine(data);
    assert.deepEqual([running.healthy, running.wrong], [true, []]);
    const checks = running.findings.map(({ check }) => check);
    assert.deepEqual(
      checks,
      stopped.findings.map(({ check }) => check),
    );
    assert.ok(checks.length >= 9, checks.join(' '));
    if (store === 'SQLite') return;
    await askDatabase(
      data,
      `INSERT INTO server_instance (id, hostname, version, started_at, seen_at)
       SELECT 'other', 'far', '0.0.9', started_at, seen_at FROM server_instance LIMIT 1`,
    );
    const [finding, ...others] = (await examine(data)).wrong;
    assert.deepEqual([others, finding?.check, finding?.severity], [[], 'versions', 'warning']);
    assert.match(String(finding?.text), /far is version 0\.0\.9/);
  });
});

interface Arranged {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

interface Fault {
  readonly arrange: (data: string, t: TestContext) => Promise<Arranged> | Arranged;
  readonly check: Finding['check'];
  readonly severity: Finding['severity'];
  readonly text: RegExp;
  /** What else follows from it. */
  readonly beside?: readonly Finding['check'][];
}

function writeCertificate(data: string, { cert, key }: Certificate, mode = 0o600): readonly string[] {
  const files = { cert: join(data, 'cert.pem'), key: join(data, 'key.pem') };
  writeFileSync(files.cert, cert);
  writeFileSync(files.key, key, { mode });
  return ['--tls-cert', files.cert, '--tls-key', files.key];
}

const PAGE_BYTES = 4096;

/** Changes the data, and accepts it as it is. */
function change(data: string, sql: string): void {
  const file = join(data, 'berth.db');
  using db = new DatabaseSync(file);
  db.exec(sql);
  rmSync(`${file}-sums`);
}

/** Where a table begins in the file. */
function findRoot(file: string, table: string): number {
  using db = new DatabaseSync(file);
  const row = db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table);
  return (Number(row?.rootpage) - 1) * PAGE_BYTES;
}

/** The fault is in the folder. */
const afterwards = (_: unknown): Arranged => ({});

const KEY_TEXT = publicKey.export({ type: 'spki', format: 'pem' }).toString();
const cloudAt = (url: string) => ({ args: ['--cloud-url', url, `--cloud-public-key=${KEY_TEXT}`] });
const setKeys = (data: string) => runBerth(data, ['key', 'set'], {}, 'an-api-key\na-shared-key\n');

const FAULTS: Readonly<Record<string, Fault>> = {
  'too little space on the disk': {
    arrange: () => ({ args: ['--notices-disk-free-megabytes', '1000000000'] }),
    check: 'disk',
    severity: 'warning',
    text: /has only \d+ MB left/,
  },
  'backups that cannot be written': {
    arrange: async (data) => {
      writeFileSync(join(data, 'no-folder'), '');
      const args = ['--backup-schedule', '5m', '--backup-folder', join(data, 'no-folder')];
      const server = await startServerHere({ data, args });
      await pollUntil('the backup fails', async () => {
        const { backup } = await askBerth<{ backup: { failing_at: string | null } }>(data, ['status']);
        return backup.failing_at ?? undefined;
      });
      await server.stop();
      return { args };
    },
    check: 'backup',
    severity: 'problem',
    text: /The scheduled backups have failed since/,
  },
  'a data folder that others can write': {
    arrange: (data) => afterwards(chmodSync(data, 0o777)),
    check: 'server',
    severity: 'problem',
    text: /can write to .*mode 0777/,
  },
  'a private key that others can change': {
    arrange: (data) => {
      const args = writeCertificate(data, CERTIFICATE);
      chmodSync(join(data, 'key.pem'), 0o646);
      return { args };
    },
    check: 'permissions',
    severity: 'warning',
    text: /can write to .*key\.pem/,
  },
  'a master key that others can read': {
    arrange: (data) => afterwards(chmodSync(join(data, 'master.key'), 0o644)),
    check: 'permissions',
    severity: 'warning',
    text: /can read .*master\.key/,
  },
  'a lost master key': {
    arrange: (data) => afterwards(rmSync(join(data, 'master.key'))),
    check: 'server',
    severity: 'problem',
    text: /master\.key is missing/,
  },
  'a damaged database': {
    arrange: (data) => afterwards(writeFileSync(join(data, 'berth.db'), 'no database'.repeat(1000))),
    check: 'server',
    severity: 'problem',
    text: /berth\.db/,
  },
  'a hole in the database': {
    arrange: (data) => {
      const file = join(data, 'berth.db');
      const bytes = readFileSync(file);
      bytes.fill(0, findRoot(file, 'history_duration'), findRoot(file, 'history_duration') + PAGE_BYTES);
      return afterwards(writeFileSync(file, bytes));
    },
    check: 'database',
    severity: 'problem',
    text: /The file of the database is damaged\. SQLite says: /,
  },
  'rules that are not valid': {
    arrange: (data) => afterwards(writeFileSync(join(data, 'rules.yaml'), 'deny:\n  user: [ada]\n')),
    check: 'rules',
    severity: 'problem',
    text: /rules\.yaml is not valid: line 2, column 3: "deny\.user" is unknown/,
  },
  'no backup at all': {
    arrange: (data) => {
      return afterwards(change(data, "DELETE FROM notice WHERE kind = 'backup_made'"));
    },
    check: 'backup',
    severity: 'warning',
    text: /^No backup was made yet\.$/,
  },
  'a database that does not answer': {
    arrange: () => ({ env: { BERTH_DATABASE_URL: 'postgres://berth@127.0.0.1:9/berth' } }),
    check: 'server',
    severity: 'problem',
    text: /database/,
  },
  'a clock that was wrong': {
    arrange: (data) => {
      change(data, `UPDATE server SET mark = mark + ${30 * DAY_MS}`);
      return {};
    },
    check: 'clock',
    severity: 'problem',
    text: /is ahead of the wall clock/,
  },
  'a cloud without keys': {
    arrange: () => cloudAt('http://127.0.0.1:9'),
    check: 'cloud',
    severity: 'problem',
    text: /keys .* are not set/,
  },
  'a cloud that cannot be reached': {
    arrange: async (data) => {
      await setKeys(data);
      return cloudAt('http://127.0.0.1:9');
    },
    check: 'cloud',
    severity: 'problem',
    text: /The licensing cloud does not work/,
  },
  'a clock that differs from that of the cloud': {
    arrange: async (data, t) => {
      await setKeys(data);
      const { url } = await openCloud(t, (response) =>
        response.writeHead(400, { date: new Date(Date.now() - DAY_MS * 3).toUTCString() }).end('{}'),
      );
      return cloudAt(url);
    },
    check: 'clock',
    severity: 'warning',
    text: /ahead of that of the licensing cloud/,
    beside: ['cloud'],
  },
  'a license from a cloud, and no cloud': {
    arrange: async (data) => {
      await seedLicenses(data, [testLicense(7, { source: 'cloud' })]);
      return {};
    },
    check: 'cloud',
    severity: 'problem',
    text: /none is configured/,
  },
  'a certificate that has ended': {
    arrange: (data) => ({
      args: writeCertificate(data, makeTestCertificate({ notAfter: new Date('2020-01-01T00:00:00Z') })),
    }),
    check: 'certificate',
    severity: 'problem',
    text: /expired on 2020/,
  },
  'a key of another certificate': {
    arrange: (data) => ({ args: writeCertificate(data, { ...CERTIFICATE, key: OTHER.key }) }),
    check: 'certificate',
    severity: 'problem',
    text: /does not belong to the first certificate/,
  },
  'a certificate for other names': {
    arrange: (data) => ({
      args: [...writeCertificate(data, CERTIFICATE), '--http-allowed-hosts', 'licenses.example.com'],
    }),
    check: 'certificate',
    severity: 'warning',
    text: /not for licenses\.example\.com/,
  },
  'plain HTTP on the network': {
    arrange: () => ({ args: ['--host', '10.1.2.3'] }),
    check: 'exposure',
    severity: 'problem',
    text: /without TLS/,
  },
  'slots for everybody on the internet': {
    arrange: (data) => ({ args: [...writeCertificate(data, CERTIFICATE), '--host', '203.0.113.5'] }),
    check: 'exposure',
    severity: 'warning',
    text: /public address/,
  },
  'an administration for every local user': {
    arrange: () => ({ args: ['--auth-local-admin', 'always'] }),
    check: 'exposure',
    severity: 'warning',
    text: /every user and program of this machine/,
  },
  'a one-time password': {
    arrange: async (data) => {
      await runBerth(data, ['user', 'password', 'admin', '--one-time']);
      return {};
    },
    check: 'exposure',
    severity: 'warning',
    text: /one-time password/,
  },
  'a provider that is away': {
    arrange: () => ({ args: ['--auth-oidc-issuer', 'http://127.0.0.1:1', '--auth-oidc-client-id', 'berth'] }),
    check: 'provider',
    severity: 'warning',
    text: /Nobody can sign in with the provider\. The provider at 127\.0\.0\.1:1 cannot be reached/,
  },
  'a directory that is away': {
    arrange: () => ({ args: ['--auth-ldap-url', 'ldaps://127.0.0.1:1', '--auth-ldap-base', 'dc=example'] }),
    check: 'provider',
    severity: 'warning',
    text: /Nobody from the directory can sign in\. The directory 127\.0\.0\.1:1 cannot be asked/,
  },
  'a webhook that can be read on the way': {
    arrange: () => ({ env: { BERTH_WEBHOOKS_URL: 'http://hooks.example.com/x' } }),
    check: 'exposure',
    severity: 'warning',
    text: /What is sent to "webhooks\.url" can be read/,
  },
  'a folder without data': {
    arrange: (data) => afterwards(rmSync(data, { recursive: true })),
    check: 'server',
    severity: 'problem',
    text: /There is no data/,
  },
};

describe('an arranged fault is found, and nothing else', () => {
  const healthy = join(temporaryFolder({ after }), 'data');

  before(() => prepare(healthy));

  for (const [title, { arrange, check, severity, text, beside = [] }] of Object.entries(FAULTS)) {
    test(title, async (t) => {
      const data = join(temporaryFolder(t), 'data');
      cpSync(healthy, data, { recursive: true });
      chmodSync(data, 0o700);
      const { args = [], env = {} } = await arrange(data, t);
      const { wrong } = await examine(data, args, env);
      const found = wrong.find((finding) => finding.check === check && text.test(finding.text));
      assert.ok(found, JSON.stringify(wrong));
      assert.equal(found.severity, severity);
      assert.deepEqual(
        wrong.filter((finding) => finding !== found).map((finding) => finding.check),
        beside,
      );
    });
  }
});

test('the findings for people say what to do, with the command as it is typed', async (t) => {
  const data = join(temporaryFolder(t), 'data');
  const server = await startServerHere({ data });
  t.after(() => server.stop());
  const { code, stdout } = await runBerth(data, ['doctor']);
  assert.equal(code, 0);
  const warnings = stdout.split('\n').filter((line) => line.startsWith('warning'));
  const [backup, password, ...others] = warnings.filter((line) => !isSlowDisk(line));
  assert.match(String(backup), /^warning {2}backup +No backup was made yet\./);
  assert.match(String(password), /^warning {2}exposure +An administrator still has the one-time password/);
  assert.deepEqual(others, []);
  assert.ok(stdout.includes(`Replace it with "berth user password admin --data ${data}".`), stdout);
  assert.ok(stdout.includes(`\nProblems: 0. Warnings: ${warnings.length}.\n`), stdout);
});
