import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { MIGRATIONS } from './migrations.ts';

const STORES = fileURLToPath(new URL('..', import.meta.url));
const folderOf = (store: string) => join(STORES, store, 'migrations');

/** So many are released, and some data was written with them. Comments and blanks may change. */
const RELEASED = 13;
const DIGESTS: Readonly<Record<string, string>> = {
  postgres: 'd0e1341624ab7559',
  sqlite: 'c36ce6d2ca70f4fe',
};

function digest(store: string): string {
  const names = MIGRATIONS.slice(0, RELEASED);
  const texts = names.map((name) => readFileSync(join(folderOf(store), name), 'utf8'));
  const sql = texts.map((text) => text.replace(/--.*$/gm, '').replace(/\s+/g, ' ').trim());
  return createHash('sha256').update(sql.join('\n')).digest('hex').slice(0, 16);
}

describe('migrations', () => {
  for (const store of readdirSync(STORES).filter((name) => existsSync(folderOf(name)))) {
    test(`${store} has a file for each of them, and no other`, () => {
      assert.deepEqual(readdirSync(folderOf(store)).sort(), MIGRATIONS);
    });

    test(`${store} has the released ones as they were released`, () => {
      assert.equal(digest(store), DIGESTS[store], 'Add a migration instead of changing a released one.');
    });
  }
});
