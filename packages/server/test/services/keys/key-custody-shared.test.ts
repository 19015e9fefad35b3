import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { RequestError } from '@berth/protocol/request-error';
import { temporaryFolder } from '../../../../../test/support/server-process.ts';
import { hasPostgres, sharedPostgres } from '../../../../../test/support/stores/postgres.ts';
import { createKeyCustody } from '../../../src/services/keys/key-custody.ts';
import { openPatiently } from '../../store/exam/postgres-database.ts';

const getPostgres = sharedPostgres();

test('a rotation while other servers run is refused, and the key stays', async (t) => {
  if (!hasPostgres) return t.skip('optional: needs PostgreSQL');
  const url = await (await getPostgres()).createDatabase();
  const source = { value: null, file: join(temporaryFolder(t), 'master.key') };
  const store = await openPatiently({ url, masterKey: source });
  t.after(() => store.close());
  const other = await openPatiently({ url, masterKey: source });
  t.after(() => other.close());
  const custody = createKeyCustody(store, source);
  const [before, key] = [await custody.describe(), readFileSync(source.file, 'utf8')];
  await assert.rejects(custody.rotate(null, 'ada'), (error: unknown) => {
    assert.ok(error instanceof RequestError);
    assert.equal(error.code, 'other_servers_running');
    return true;
  });
  assert.equal(readFileSync(source.file, 'utf8'), key);
  assert.equal(existsSync(`${source.file}.next`), false);
  assert.deepEqual(await custody.describe(), before);
  await other.close();
  assert.equal((await custody.rotate(null, 'ada')).replaced, before.fingerprint);
  assert.notEqual(readFileSync(source.file, 'utf8'), key);
});
