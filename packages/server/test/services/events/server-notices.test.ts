import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { openTestStore, readEvents } from '../../../../../test/support/test-app.ts';
import { DAY_MS, type Instant, plus } from '../../../src/core/nouns/instant.ts';
import { findDiskSpace } from '../../../src/services/backups/disk-space.ts';
import { createServerNotices } from '../../../src/services/events/server-notices.ts';

async function openNotices(t: TestContext) {
  const { store, clock, folder } = await openTestStore(t);
  const open = (limits: { diskFreeMegabytes?: number; certificateDays?: number }, validUntil?: Instant) =>
    createServerNotices({
      store,
      hostname: 'vm',
      folder,
      readWall: clock.readWall,
      readCertificate: () =>
        validUntil === undefined
          ? null
          : {
              subject: 'CN=vm',
              fingerprint256: `ends ${validUntil}`,
              validUntil,
              asksClients: false,
              error: null,
            },
      diskFreeMegabytes: 0,
      certificateDays: 0,
      ...limits,
    });
  return { store, clock, folder, open };
}

describe('a disk that fills up', () => {
  test('is reported once, and when it has room again', async (t) => {
    const { store, folder, open } = await openNotices(t);
    const { totalMegabytes } = (await findDiskSpace(folder)) ?? assert.fail();
    const [short, wide] = [open({ diskFreeMegabytes: 2 * totalMegabytes }), open({ diskFreeMegabytes: 1 })];
    const told: number[] = [];
    for (const notices of [wide, short, short, wide, wide, short, open({})]) told.push(await notices.look());
    assert.deepEqual(told, [0, 1, 0, 1, 0, 1, 0]);
    const events = await readEvents(store);
    assert.deepEqual(
      events.map((event) => [
        event.kind,
        'folder' in event && event.folder,
        'hostname' in event && event.hostname,
      ]),
      ['disk_space_low', 'disk_space_recovered', 'disk_space_low'].map((kind) => [kind, folder, 'vm']),
    );
  });

  test('the space of a missing folder is unknown', async (t) => {
    const { folder } = await openNotices(t);
    assert.equal(await findDiskSpace(join(folder, 'nowhere')), null);
  });
});

test('an expiring certificate is reported once, its successor again, and an expired one', async (t) => {
  const { store, clock, open } = await openNotices(t);
  const limits = { certificateDays: 14 };
  const ends = (days: number) => plus(clock.readWall(), days * DAY_MS);
  const look = (until: Instant, changed = limits) => open(changed, until).look();
  const [later, soon, gone] = [ends(15), ends(14), ends(-1)];
  const told = [await look(later), await look(soon), await look(soon), await look(gone), await look(gone)];
  assert.deepEqual(told, [0, 1, 0, 1, 0]);
  assert.equal(await look(ends(-2), { certificateDays: 0 }), 0);
  const events = await readEvents(store);
  assert.deepEqual(events, [
    { kind: 'certificate_expiring', hostname: 'vm', fingerprint: `ends ${soon}`, validUntil: soon },
    { kind: 'certificate_expiring', hostname: 'vm', fingerprint: `ends ${gone}`, validUntil: gone },
  ]);
});
