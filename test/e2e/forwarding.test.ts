import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { askBerth, runBerth } from '../support/berth-command.ts';
import { findFreePort } from '../support/free-port.ts';
import { ensureTool } from '../support/install-tools.ts';
import { pollUntil } from '../support/poll.ts';
import { Rsyslog } from '../support/rsyslog.ts';
import { startServerHere } from '../support/server-here.ts';
import { seedLicenses, startServerProcess, temporaryFolder } from '../support/server-process.ts';
import { testLicense } from '../support/test-license.ts';

interface AuditPage {
  readonly events: readonly { readonly seq: number; readonly kind: string; readonly user?: string }[];
}

interface Status {
  readonly syslog: { readonly state: string; readonly waiting: number; readonly error: string | null };
}

async function register(url: string, ...users: readonly string[]): Promise<void> {
  for (const user of users) {
    const headers = { 'content-type': 'application/json' };
    await fetch(`${url}/api/v4/register`, { method: 'POST', headers, body: JSON.stringify({ user }) });
  }
}

async function openSite(t: TestContext, ...args: readonly string[]) {
  const data = temporaryFolder(t);
  await seedLicenses(data, [testLicense(1, { slots: 100 })]);
  const start = async () => {
    const server = await startServerProcess({ data, args });
    t.after(() => server.stop('SIGKILL'));
    return server;
  };
  const startHere = async () => {
    const server = await startServerHere({ data, args });
    t.after(server.stop);
    return server;
  };
  return { data, start, startHere };
}

/** What the log says since the first event that was forwarded, oldest first. */
async function listAudit(data: string, from: string): Promise<readonly (string | undefined)[]> {
  const { events } = await askBerth<AuditPage>(data, ['audit', 'list', '--limit', '1000']);
  const first = Number(from.split('.')[0]);
  const known = events.filter(({ seq }) => seq >= first).toReversed();
  return known.map(({ kind, user }) => `${kind} ${user}`);
}

describe('events of a real server', () => {
  test('reach a real syslog server in order, though both are killed meanwhile', async (t) => {
    if (!(await ensureTool('rsyslogd'))) return t.skip('optional: needs rsyslogd');
    const rsyslog = new Rsyslog(t, temporaryFolder(t), await findFreePort());
    const { data, start, startHere } = await openSite(t, '--syslog-url', `tcp://127.0.0.1:${rsyslog.port}`);
    const arrived = (user: string) =>
      pollUntil(user, () => rsyslog.list().some((event) => event.user === user) || undefined);
    await rsyslog.start();
    const first = await start();
    await register(first.url, 'ann', 'bob');
    await arrived('bob');
    await rsyslog.stop();
    await register(first.url, 'cat');
    const failing = await pollUntil('a failure', async () => {
      const { syslog } = await askBerth<Status>(data, ['status']);
      return syslog.error === 'it cannot be reached (ECONNREFUSED)' ? syslog : undefined;
    });
    assert.equal(failing.state, 'failing');
    assert.ok(failing.waiting >= 1);
    const { stdout } = await runBerth(data, ['doctor']);
    assert.match(stdout, /Events have not reached "syslog\.url" since .*ECONNREFUSED/);
    await first.stop('SIGKILL');
    await rsyslog.start();
    const second = await startHere();
    await register(second.url, 'dan');
    await arrived('dan');
    const got = rsyslog.list();
    const expected = await listAudit(data, got[0]?.id ?? '');
    assert.deepEqual(
      got.map(({ kind, user }) => `${kind} ${user}`),
      expected.slice(0, got.length),
    );
    assert.ok(got.length >= 4);
  });

  test('are lines of a file, too', async (t) => {
    const file = join(temporaryFolder(t), 'events.json');
    const { startHere } = await openSite(t, '--events-file-path', file);
    const server = await startHere();
    await register(server.url, 'ann');
    const lines = await pollUntil('a line', () => {
      const text = tryRead(file);
      return text.includes('"ann"') ? text.trimEnd().split('\n') : undefined;
    });
    const { id, kind, user, license_id } = JSON.parse(lines.at(-1) as string);
    assert.match(id, /^\d+\.0$/);
    assert.deepEqual([kind, user, license_id], ['slot_lent', 'ann', 1]);
  });
});

function tryRead(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
