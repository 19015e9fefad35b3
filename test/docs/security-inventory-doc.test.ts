import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const ROOT = new URL('../../', import.meta.url);
const PAGE = readFileSync(new URL('docs/security-inventory.md', ROOT), 'utf8');

/** Calls that name an algorithm, and constants that hold the name of one. */
const CALLS = 'createHash|createHmac|createCipheriv|generateKeyPairSync|sign|verify|signCode|isCode';
const ALGORITHM = new RegExp(String.raw`\b(?:${CALLS})\(\s*'([\w-]+)'|\bCURVE = '(\w+)'`, 'g');

test('docs/security-inventory.md names every algorithm that the code names', () => {
  const files = globSync('packages/*/src/**/*.ts', { cwd: ROOT }).filter(
    (file) => !file.endsWith('.test.ts'),
  );
  const named = files.flatMap((file) =>
    [...readFileSync(new URL(file, ROOT), 'utf8').matchAll(ALGORITHM)].map(
      ([, call, curve]) => call ?? curve,
    ),
  );
  const algorithms = new Set(named);
  assert.ok(algorithms.size >= 7, `only ${[...algorithms]} were found`);
  for (const algorithm of algorithms) assert.ok(PAGE.includes(`\`${algorithm}\``), `${algorithm} is missing`);
});
