import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

const ROOT = new URL('../../', import.meta.url);

const TEXT = readFileSync(new URL('SECURITY.md', ROOT), 'utf8');

/** The rows of the tables of known weaknesses: a file, and how its test begins. */
const ROWS = [...TEXT.matchAll(/^\|[^|]*\| `(\S+\.test\.ts)`: ([^|]+?) \|$/gm)].map(
  ([, file = '', title = '']) => ({ file, title }),
);

describe('the tables of known weaknesses', () => {
  test('names a test for each of them', () => {
    const table = TEXT.slice(TEXT.indexOf('## What other license servers'));
    const lines = table.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| weakness'));
    assert.equal(ROWS.length, lines.length, 'every row but the headings names a file and a title');
    assert.ok(ROWS.length >= 20);
  });

  for (const { file, title } of ROWS) {
    test(`${file}: ${title}`, () => {
      const url = new URL(file, ROOT);
      assert.ok(existsSync(url), 'the file is there');
      const begins = ["'", '"', '`'].some((quote) => readFileSync(url, 'utf8').includes(`(${quote}${title}`));
      assert.ok(begins, 'and has a test that begins with these words');
    });
  }
});
