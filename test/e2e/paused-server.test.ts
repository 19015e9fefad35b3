import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { MINUTE_MS, makeFakedClock } from '../support/faked-clock.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';
import { askDatabase, describeStores } from '../support/stores/test-stores.ts';
import { testLicense } from '../support/test-license.ts';

const PAUSE_MS = MINUTE_MS + 5000;
const HOLDERS = ['ada', 'bea', 'cyd', 'dan', 'eve'];

const LICENSES = [testLicense(1, { slots: HOLDERS.length, timeoutMinutes: 1 })];

interface Pausable {
  readonly server: ServerUnderTest;
  /** Lets time pass for a server that is stopped. */
  readonly pass: () => Promise<void>;
}

async function startAlone(t: TestContext): Promise<Pausable | null> {
  const clock = await makeFakedClock(t);
  if (clock === null) return null;
  const server = await ServerUnderTest.start(t, { licenses: LICENSES, env: clock.env });
  return { server, pass: async () => clock.set(PAUSE_MS) };
}

/** All dates in the database are that much older, since its clock cannot be set. */
async function startShared(t: TestContext): Promise<Pausable> {
  const server = await ServerUnderTest.start(t, { licenses: LICENSES });
  const move = (table: string, column: string) =>
    askDatabase(server.data, `UPDATE ${table} SET ${column} = ${column} - ${PAUSE_MS}`);
  async function pass(): Promise<void> {
    await move('registration', 'ends_at');
    await move('license', 'mark');
    for (const column of ['alive_at', 'mark']) await move('server', column);
  }
  return { server, pass };
}

describeStores('a server that was stopped for longer than a slot lives', (store) => {
  test('gives no slot to whoever asks first: all holders keep theirs', async (t) => {
    const started = await (store === 'SQLite' ? startAlone(t) : startShared(t));
    if (started === null) return t.skip('optional: needs libfaketime');
    const { server, pass } = started;
    const { api, pid } = server;
    const register = (user: string) => api.register({ product: 'cad', user });
    for (const user of HOLDERS) assert.equal((await register(user)).status, 200);
    process.kill(pid, 'SIGSTOP');
    await pass();
    const asking = HOLDERS.map((user) => register(`${user}'s neighbour`));
    process.kill(pid, 'SIGCONT');
    for (const { body } of await Promise.all(asking)) assert.equal(body.code, 'floating_not_available');
    const { server_at: at } = await api.clock();
    const holders = await api.holders();
    assert.deepEqual(holders.map(({ user }) => user).sort(), HOLDERS);
    for (const { ends_at } of holders) assert.ok(Date.parse(ends_at) - Date.parse(at) > MINUTE_MS / 2);
    for (const user of HOLDERS) assert.equal((await register(user)).status, 200, 'a heartbeat');
    if (store === 'SQLite') assert.match(server.log, /the server was paused/);
  });
});
