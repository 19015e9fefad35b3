import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const HERE = import.meta.dirname;
const TESTS = fileURLToPath(new URL('../../../../test', import.meta.url));

const STORES = readdirSync(join(HERE, '../../src/store'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !['engine'].includes(entry.name))
  .map(({ name }) => name);

/** Where tests that run on every store list them. */
const LISTS = ['model/model-stores.ts', 'support/stores/test-stores.ts'];

describe('every store', () => {
  for (const store of STORES) {
    test(`${store} takes the exam`, () => {
      const tests = globSync('**/*.test.ts', { cwd: join(HERE, store) });
      const texts = tests.map((file) => readFileSync(join(HERE, store, file), 'utf8'));
      assert.ok(texts.some((text) => text.includes('exerciseStore(')));
    });

    test(`${store} is in the lists of the tests that run on every store`, () => {
      for (const list of LISTS) {
        const text = readFileSync(join(TESTS, list), 'utf8').toLowerCase();
        assert.ok(text.includes(store), list);
      }
    });
  }
});
