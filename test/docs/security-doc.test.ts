import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

const ROOT = new URL('../../', import.meta.url);

const TEXT = readFileSync(new URL('SECURITY.md', ROOT), 'utf8');

/** The rows of the tables of weaknesses: a file, and how its test begins. */
const ROWS = [...TEXT.matchAll(/^\|[^|]*\| `(\S+\.test\.ts)`: ([^|]+?) \|$/gm)].map(
  ([, file = '', title = '']) => ({ file, title }),
);

/** What follows a heading, up to the next. */
function sectionOf(heading: string): string {
  const start = TEXT.indexOf(`## ${heading}`);
  assert.ok(start >= 0, heading);
  return TEXT.slice(start).split('\n## ')[0] as string;
}

describe('the tables of weaknesses', () => {
  test('name a test for each of them', () => {
    const headings = [
      'What other license servers were broken into by',
      'What a penetration test of Berth found',
    ];
    const lines = headings.flatMap((heading) =>
      sectionOf(heading)
        .split('\n')
        .filter((line) => line.startsWith('| ')),
    );
    const expected = lines.length - headings.length;
    assert.equal(ROWS.length, expected, 'every row but the headings names a file and a title');
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
