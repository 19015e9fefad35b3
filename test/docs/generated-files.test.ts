import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generateFiles } from '../../build/generated-files.ts';
import { makePerformancePage } from '../bench/report/performance-page.ts';
import { writeReliabilityPage } from '../faults/reliability-page.ts';

const FILES = {
  ...generateFiles(),
  ...makePerformancePage(),
  'docs/reliability.md': writeReliabilityPage(),
};

for (const [path, text] of Object.entries(FILES)) {
  test(`${path} is as npm run docs writes it`, () => {
    const committed = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
    assert.ok(committed === text, 'Run "npm run docs".');
  });
}
