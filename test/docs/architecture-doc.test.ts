import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

const ROOT = new URL('../../', import.meta.url);
const PAGE = readFileSync(new URL('ARCHITECTURE.md', ROOT), 'utf8');
const STEPS = [...PAGE.matchAll(/^\| \d+ \| `(\S+)` \|/gm)].map(([, file]) => file as string);

describe('ARCHITECTURE.md', () => {
  test('lists the path of a register, in at most 30 files that exist', () => {
    assert.ok(STEPS.length > 20 && STEPS.length <= 30, `${STEPS.length} files`);
    for (const file of STEPS) assert.ok(existsSync(new URL(`packages/server/src/${file}`, ROOT)), file);
    assert.equal(new Set(STEPS).size, STEPS.length);
  });

  test('names only files that exist', () => {
    const sources = globSync('{packages/*/src,test,docs}/**/*.{ts,md}', { cwd: ROOT });
    const named = [...PAGE.matchAll(/`((?:[\w-]+\/)+[\w-]+\.(?:ts|md))`/g)].map(([, file]) => file as string);
    assert.ok(named.length > 30, `${named.length} files`);
    for (const file of named)
      assert.ok(
        sources.some((source) => `/${source}`.endsWith(`/${file}`)),
        file,
      );
  });
});
