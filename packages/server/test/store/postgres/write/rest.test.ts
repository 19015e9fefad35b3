import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { hasPostgres, sharedPostgres } from '../../../../../../test/support/stores/postgres.ts';
import { HOUR_MS, MINUTE_MS } from '../../../../src/core/nouns/instant.ts';
import { createManualClock, type ManualClock } from '../../../../src/store/clock.ts';
import type { Store } from '../../../../src/store/store.ts';
import { exampleLicense, NOW, register } from '../../../core/examples.ts';
import { openPatiently } from '../../exam/postgres-database.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const shared = sharedPostgres();

const TIMEOUT_MS = 10 * MINUTE_MS;

interface Site {
  readonly clock: ManualClock;
  open(isServing: boolean): Promise<Store>;
}

async function createSite(): Promise<Site> {
  const url = await (await shared()).createDatabase();
  const clock = createManualClock(NOW);
  return {
    clock,
    open: (isServing) => openPatiently({ url, isServing, clock }),
  };
}

/** One slot, and ada holds it. */
async function lend(t: TestContext, store: Store): Promise<void> {
  t.after(() => store.close());
  await store.execute({ kind: 'install_license', license: exampleLicense({ slots: 1 }), by: 'admin' });
  assert.equal((await store.execute(register('ada'))).kind, 'granted');
}

async function expectHeldUntil(store: Store, endsAt: number): Promise<void> {
  assert.equal((await store.execute(register('bob'))).kind, 'refused');
  const query = { kind: 'list_registrations', licenseId: null, product: null, user: null } as const;
  const { registrations } = await store.read({ ...query, limit: 10, after: null });
  const [held] = registrations;
  assert.deepEqual([held?.registration.user, held?.registration.endsAt], ['ada', endsAt]);
}

describe('after a rest of all servers nobody loses a slot', { skip }, () => {
  test('whether a command of a silent server comes first', async (t) => {
    const { clock, open } = await createSite();
    const store = await open(true);
    await lend(t, store);
    clock.advance(HOUR_MS);
    await expectHeldUntil(store, NOW + HOUR_MS + TIMEOUT_MS);
  });

  test('or a command of the command line, before any server starts', async (t) => {
    const { clock, open } = await createSite();
    const first = await open(true);
    await lend(t, first);
    await first.close();
    clock.advance(HOUR_MS);
    const command = await open(false);
    await expectHeldUntil(command, NOW + HOUR_MS + TIMEOUT_MS);
    await command.close();
    const server = await open(true);
    t.after(() => server.close());
    await expectHeldUntil(server, NOW + HOUR_MS + TIMEOUT_MS);
  });

  test('a clock that jumps ahead is such a rest: it frees nothing', async (t) => {
    const { clock, open } = await createSite();
    const store = await open(true);
    await lend(t, store);
    clock.setWall((NOW + HOUR_MS) as typeof NOW);
    await expectHeldUntil(store, NOW + HOUR_MS + TIMEOUT_MS);
  });

  test('a clock that jumps every time causes a fault, not endless attempts', async (t) => {
    const { clock, open } = await createSite();
    const store = await open(true);
    await lend(t, store);
    const { readWall } = clock;
    t.mock.method(clock, 'readWall', () => {
      clock.advance(HOUR_MS);
      return readWall();
    });
    const fault = { code: 'store_unavailable', message: /^All 10 attempts met other changes/ };
    await assert.rejects(store.execute(register('bob')), fault);
    t.mock.restoreAll();
    assert.equal((await store.execute(register('ada'))).kind, 'granted');
  });
});
