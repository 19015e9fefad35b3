import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { PLANTED_BUGS } from './bugs.ts';
import { plant } from './planted.ts';

/** `npm run faults -- planted` lets the faults find them. */
test('every bug that is put in on purpose can be put in', () => {
  for (const bug of PLANTED_BUGS) {
    const text = readFileSync(new URL(`../../../${bug.file}`, import.meta.url), 'utf8');
    assert.notEqual(plant(text, bug), text);
  }
});
