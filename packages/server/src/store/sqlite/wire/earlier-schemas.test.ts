import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { type Instant, MINUTE_MS, plus } from '../../../core/nouns/instant.ts';
import { parseMasterKey } from '../../../secrets/master-key.ts';
import { createManualClock } from '../../clock.ts';
import { SCHEMA_VERSION } from '../../engine/migrations.ts';
import { expectSoundFile } from '../../exam/sqlite-file.ts';
import { openInThreadStore } from '../in-thread-store.ts';

/** A data folder for each schema that ever was, left by the last server that used it. */
const SCHEMAS = new URL('../../../../../../test/support/earlier-data/schemas/', import.meta.url);
const KEYS = JSON.parse(readFileSync(new URL('master-keys.json', SCHEMAS), 'utf8')) as Readonly<
  Record<string, string>
>;
const nameOf = (version: number) => `${String(version).padStart(4, '0')}.db.gz`;

/** Added together with the next one. */
const NEVER_ALONE = [5, 6, 7, 10, 15, 16, 17].map(nameOf);

/** Copies the data and returns its folder and the time when its server stopped. */
function copyData(t: TestContext, name: string) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-schema-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'berth.db');
  writeFileSync(file, gunzipSync(readFileSync(new URL(name, SCHEMAS))));
  const db = new DatabaseSync(file, { readOnly: true });
  const { mark } = db.prepare('SELECT mark FROM server').get() as { mark: Instant };
  db.close();
  return { folder, file, mark };
}

describe('data of every schema', () => {
  test('each of them is here', () => {
    const earlier = Array.from({ length: SCHEMA_VERSION - 1 }, (_, index) => nameOf(index + 1));
    const missing = earlier.filter((name) => !(name in KEYS) && !NEVER_ALONE.includes(name));
    assert.deepEqual(missing, [], 'Add data of a server with this schema.');
  });

  for (const [name, key] of Object.entries(KEYS)) {
    const hasCounts = name !== nameOf(1);
    test(`${name} opens, with its slots, totals and keys, and goes on`, async (t) => {
      const { folder, file, mark } = copyData(t, name);
      const masterKey = parseMasterKey(key, name);
      const clock = createManualClock(plus(mark, MINUTE_MS));
      const store = openInThreadStore({ file, masterKey, clock, onNotice: () => {} });
      const [record] = await store.read({ kind: 'list_licenses', product: 'demo' });
      assert.equal(record?.inUse, 2);
      const { total, features } = record.standing;
      const [exported] = features.filter(({ total }) => total > 0);
      assert.deepEqual([total, exported?.total ?? 0], hasCounts ? [10, 3] : [0, 0]);
      const everyone = {
        kind: 'list_registrations',
        licenseId: record.license.id,
        product: null,
        user: null,
      } as const;
      const held = await store.read({ ...everyone, after: null, limit: 10 });
      const users = held.registrations.map(({ registration }) => [
        registration.user,
        registration.borrowedUntil !== null,
      ]);
      assert.deepEqual(users, [
        ['ada', false],
        ['bob', true],
      ]);
      const { apiKey } = await store.read({ kind: 'find_cloud_keys' });
      assert.equal(apiKey !== null, hasCounts);
      assert.deepEqual((await store.read({ kind: 'verify_audit' })).problems, []);
      await store.close();
      await expectSoundFile(folder);
    });
  }
});
