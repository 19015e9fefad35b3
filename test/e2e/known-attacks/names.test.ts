import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createDataFolder } from '../../../packages/server/src/store/folder-lock.ts';
import {
  type ServerProcess,
  seedLicenses,
  startServerProcess,
  temporaryFolder,
} from '../../support/server-process.ts';
import { testLicense } from '../../support/test-license.ts';

/** Attacks by names and words: what people read, what rules compare, what a server calls itself. */

const folder = temporaryFolder({ after });
const data = join(folder, 'data');
let server: ServerProcess;

before(async () => {
  createDataFolder(data);
  writeFileSync(join(data, 'rules.yaml'), 'deny: { users: [bob, jos\u00e9, "ext-*"], hosts: [lab-1] }\n');
  await seedLicenses(data, [testLicense(1, { slots: 20 })]);
  server = await startServerProcess({ data });
});

after(() => server.stop('SIGKILL'));

async function register(fields: object): Promise<Record<string, unknown>> {
  const answer = await fetch(`${server.url}/api/v4/register`, {
    method: 'POST',
    body: JSON.stringify(fields),
  });
  return (await answer.json()) as Record<string, unknown>;
}

describe('attacks by names', () => {
  test('user names that look alike: invisible and bidirectional characters get no slot', async () => {
    await register({ user: 'alice' });
    for (const user of ['alice\u200b', '\u202eecila', 'al\u00adice', 'alice\u2060', 'alic\u2066e']) {
      const { code, message } = await register({ user });
      assert.equal(code, 'validation_error', JSON.stringify(user));
      assert.match(String(message), /U\+[0-9A-F]{4}/);
    }
    for (const user of [' alice', 'alice\u00a0', '\ufeffalice']) {
      assert.equal((await register({ user })).floating_in_use, 1, 'the slot that they hold');
    }
  });

  test('evading a bar: another case, width, accent or invisible character does not help', async () => {
    const names = [
      'bob',
      'BOB',
      '\uff42\uff4f\uff42',
      'b\u200dob',
      'b\u200cob\ufe0f',
      'jose\u0301',
      'EXT-\uff11',
    ];
    for (const user of [...names, ' bob ']) {
      assert.equal((await register({ user })).code, 'blacklisted', JSON.stringify(user));
    }
    for (const os_hostname of ['LAB-1', '\uff4c\uff41\uff42-1', 'lab\u200b-1', ' lab-1']) {
      assert.equal((await register({ user: 'eve', os_hostname })).code, 'blacklisted', os_hostname);
    }
    assert.equal((await register({ user: 'bobby' })).code, undefined);
  });
});
