import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import type { Command } from '../../../../src/core/command.ts';
import { HOUR_MS } from '../../../../src/core/nouns/instant.ts';
import type { MasterKey } from '../../../../src/secrets/seal.ts';
import { createManualClock } from '../../../../src/store/clock.ts';
import { SqliteWriter } from '../../../../src/store/sqlite/write/writer.ts';
import { consume, exampleLicense, exampleLimits, LICENSE_ID, NOW } from '../../../core/examples.ts';

const masterKey = randomBytes(32) as Uint8Array as MasterKey;
const LIMIT = 200;

/** A writer that remembers few answers, on a license without a limit. */
function setUp(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-writer-'));
  const file = join(folder, 'berth.db');
  const clock = createManualClock(NOW);
  const writer = new SqliteWriter({ file, clock, masterKey, maxRememberedAnswers: LIMIT });
  const reading = new DatabaseSync(file, { readOnly: true });
  t.after(() => {
    reading.close();
    writer.close();
    rmSync(folder, { recursive: true });
  });
  const license = exampleLicense({ consumption: exampleLimits({ unlimited: true }) });
  writer.executeBatch([{ kind: 'install_license', license, by: 'test' }]);
  const keys = () => reading.prepare('SELECT key FROM remembered_answer ORDER BY answered_at, key').all();
  return { writer, clock, listKeys: () => keys().map((row) => row.key as string) };
}

function withKey(key: number): Command {
  const name = `key-${String(key).padStart(5, '0')}`;
  return consume(1, { idempotency: { key: name, bodyHash: 'body' } });
}

describe('first answers', () => {
  test('are remembered up to a limit; beyond it the oldest are removed', (t) => {
    const { writer, clock, listKeys } = setUp(t);
    for (let key = 0; key < 3 * LIMIT; key++) {
      clock.advance(1);
      writer.executeBatch([withKey(key)]);
      assert.ok(listKeys().length <= LIMIT);
    }
    const kept = listKeys();
    assert.ok(kept.length > LIMIT * 0.98, 'room is made in small steps');
    assert.equal(kept.at(-1), 'key-00599');
    assert.equal(kept[0], `key-${String(3 * LIMIT - kept.length).padStart(5, '0')}`, 'the newest are kept');
  });

  test('that replace an old one remove nothing else', (t) => {
    const { writer, clock, listKeys } = setUp(t);
    for (let round = 0; round < 4; round++) {
      writer.executeBatch(Array.from({ length: LIMIT / 2 }, (_, key) => withKey(key)));
      clock.advance(24 * HOUR_MS);
    }
    assert.equal(listKeys().length, LIMIT / 2);
    writer.executeBatch(Array.from({ length: LIMIT / 2 }, (_, key) => withKey(LIMIT + key)));
    assert.equal(listKeys().length, LIMIT, 'nothing was thrown out');
  });

  test('are counted correctly after housekeeping and after a command that failed', (t) => {
    const { writer, clock, listKeys } = setUp(t);
    const broken = consume(1, {
      user: 10n as unknown as string,
      idempotency: { key: 'k', bodyHash: 'body' },
    });
    const first = Array.from({ length: LIMIT / 2 }, (_, key) => withKey(key));
    writer.executeBatch(first.flatMap((command) => [broken, command]));
    assert.equal(listKeys().length, LIMIT / 2);
    clock.advance(24 * HOUR_MS);
    writer.executeBatch([{ kind: 'collect', licenseId: LICENSE_ID }]);
    assert.deepEqual(listKeys(), []);
    writer.executeBatch(Array.from({ length: LIMIT }, (_, key) => withKey(key)));
    assert.equal(listKeys().length, LIMIT, 'all of them fit');
  });
});
