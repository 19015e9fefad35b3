import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const ROOT = new URL('../../', import.meta.url);
const PAGE = readFileSync(new URL('docs/changing.md', ROOT), 'utf8');

test('docs/changing.md names only files and folders that there are', () => {
  const paths = Array.from(PAGE.matchAll(/`([\w.-]+\/[\w./-]*|[\w-]+\.ts)`/g), ([, path = '']) => path);
  const isThere = (path: string) =>
    ['', 'packages/server/src/', 'packages/server/test/'].some((start) =>
      existsSync(new URL(start + path, ROOT)),
    );
  const written = paths.filter((path) => !path.includes('NAME'));
  assert.deepEqual(
    written.filter((path) => !isThere(path)),
    [],
  );
});
