import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generateFiles } from '../../build/generated-files.ts';

for (const [path, text] of Object.entries(generateFiles())) {
  test(`${path} is as npm run docs writes it`, () => {
    const committed = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
    assert.ok(committed === text, 'Run "npm run docs".');
  });
}
