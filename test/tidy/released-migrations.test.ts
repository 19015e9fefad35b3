import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const PACKAGES = fileURLToPath(new URL('../../packages', import.meta.url));

/** The SHA-256 of each file as it was released. Data in the field was made with it; add, never change. */
const RELEASED: Readonly<Record<string, string>> = {
  'cloud/src/store/migrations/0001-schema.sql':
    'eea31db5e6e2f7b78f78410b5dd91b7203885cf0dad7a66a8624ba51c37de28c',
  'server/src/store/postgres/migrations/0001-schema.sql':
    'b1cad0afa2499b52c547f4285e052a818045a1590b406326080ccda56aded372',
  'server/src/store/sqlite/migrations/0001-schema.sql':
    '1fffae6a12389be0e5dbed02bcec743ed275d28de19d0c1fb28b51b36002b006',
};

describe('a released migration is as it was', () => {
  for (const [file, sha256] of Object.entries(RELEASED)) {
    test(file, () => {
      const text = readFileSync(join(PACKAGES, file));
      const found = createHash('sha256').update(text).digest('hex');
      assert.equal(found, sha256, 'Undo the change, and add a migration with the next number instead.');
    });
  }
});
