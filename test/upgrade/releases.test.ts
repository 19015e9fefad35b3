import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Release } from './release.ts';

/** `## 0.1.0 (2026-11-19)`, or `## Unreleased` for what came since. */
const SECTION = /^## (\S+)/gm;

test('every release in the changelog is upgraded here, at the latest when the next change is in it', () => {
  const changelog = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8');
  // A release is cut by the commit that names it, and only then its data can be made.
  const [, ...released] = Array.from(changelog.matchAll(SECTION), ([, name]) => name);
  assert.deepEqual(
    Release.list()
      .map(({ version }) => version)
      .sort(),
    released.sort(),
  );
});
