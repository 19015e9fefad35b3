import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { MIGRATIONS } from '../../../src/store/engine/migrations.ts';

const STORES = fileURLToPath(new URL('../../../src/store', import.meta.url));
const folderOf = (store: string) => join(STORES, store, 'migrations');

describe('migrations', () => {
  for (const store of readdirSync(STORES).filter((name) => existsSync(folderOf(name)))) {
    test(`${store} has a file for each of them, and no other`, () => {
      assert.deepEqual(readdirSync(folderOf(store)).sort(), MIGRATIONS);
    });
  }
});
