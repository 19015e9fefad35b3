import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

const ROOT = new URL('../../', import.meta.url);
const PAGE = readFileSync(new URL('docs/asvs.md', ROOT), 'utf8');

/**
 * The requirements of levels 1 and 2 of ASVS 5.0.0: a section, then its numbers; those of level 1 have a "!".
 * The numbers that are left out are of level 3.
 */
const REQUIREMENTS = `
1.1: 1 2 | 1.2: 1! 2! 3! 4! 5! 6 7 8 9 | 1.3: 1! 2! 3 4 5 6 7 8 9 10 11 | 1.4: 1 2 3 | 1.5: 1! 2
2.1: 1! 2 3 | 2.2: 1! 2! 3 | 2.3: 1! 2 3 4 | 2.4: 1
3.2: 1! 2! | 3.3: 1! 2 3 4 | 3.4: 1! 2! 3 4 5 6 | 3.5: 1! 2! 3! 4 5 | 3.7: 1 2
4.1: 1! 2 3 | 4.2: 1 | 4.3: 1 2 | 4.4: 1! 2 3 4
5.1: 1 | 5.2: 1! 2! 3 | 5.3: 1! 2! | 5.4: 1 2 3
6.1: 1! 2 3 | 6.2: 1! 2! 3! 4! 5! 6! 7! 8! 9 10 11 12 | 6.3: 1! 2! 3 4 | 6.4: 1! 2! 3 4 | 6.5: 1 2 3 4 5
6.6: 1 2 3 | 6.8: 1 2 3 4
7.1: 1 2 3 | 7.2: 1! 2! 3! 4! | 7.3: 1 2 | 7.4: 1! 2! 3 4 5 | 7.5: 1 2 | 7.6: 1 2
8.1: 1! 2 | 8.2: 1! 2! 3 | 8.3: 1! | 8.4: 1
9.1: 1! 2! 3! | 9.2: 1! 2 3 4
10.1: 1 2 | 10.2: 1 2 | 10.3: 1 2 3 4 | 10.4: 1! 2! 3! 4! 5! 6 7 8 9 10 11 | 10.5: 1 2 3 4 5 | 10.6: 1 2
10.7: 1 2 3
11.1: 1 2 | 11.2: 1 2 3 | 11.3: 1! 2! 3 | 11.4: 1! 2 3 4 | 11.5: 1 | 11.6: 1
12.1: 1! 2 3 | 12.2: 1! 2! | 12.3: 1 2 3 4
13.1: 1 | 13.2: 1 2 3 4 5 | 13.3: 1 2 | 13.4: 1! 2 3 4 5
14.1: 1 2 | 14.2: 1! 2 3 4 | 14.3: 1! 2 3
15.1: 1! 2 3 | 15.2: 1! 2 3 | 15.3: 1! 2 3 4 5 6 7
16.1: 1 | 16.2: 1 2 3 4 5 | 16.3: 1 2 3 4 | 16.4: 1 2 3 | 16.5: 1 2 3
17.1: 1 | 17.2: 1 2 3 4 | 17.3: 1 2
`;

/** Each as its number and its level, in order. */
const EXPECTED = REQUIREMENTS.trim()
  .split(/[|\n]/)
  .flatMap((section) => {
    const [name = '', numbers = ''] = section.split(':');
    return numbers
      .trim()
      .split(' ')
      .map((number) => `${name.trim()}.${Number.parseInt(number, 10)} level ${number.endsWith('!') ? 1 : 2}`);
  });

const STATES = ['met', 'not met', 'not applicable'] as const;

const ROWS = [...PAGE.matchAll(/^\| (\d+\.\d+\.\d+) \| (\d) \| (.+?) \| ([a-z ]+) \| (.+) \|$/gm)].map(
  ([, number = '', level = '', , state = '', reason = '']) => ({ number, level, state, reason }),
);

const NAMED_TEST = /`([^`]+\.test\.ts)` "([^"]+)"/g;
const NAMED_FILE = /`((?:packages|test|docs)\/[^`\s]+|[A-Z]+\.md|[\w-]+\.json)`/g;

/** A line of the table of totals: all rows of a chapter, then of each state. */
function countLine(label: string, rows: typeof ROWS): string {
  const counts = STATES.map((wanted) => rows.filter(({ state }) => state === wanted).length);
  return `| ${label} | ${[rows.length, ...counts].join(' | ')} |`;
}

describe('docs/asvs.md', () => {
  test('has every requirement of levels 1 and 2 once, in order', () => {
    assert.equal(EXPECTED.length, 253);
    assert.deepEqual(
      ROWS.map(({ number, level }) => `${number} level ${level}`),
      EXPECTED,
    );
  });

  test('counts its rows', () => {
    const chapters = [...PAGE.matchAll(/^## (V(\d+) .+)$/gm)];
    assert.equal(chapters.length, 17);
    for (const [, title = '', chapter] of chapters) {
      const rows = ROWS.filter(({ number }) => number.startsWith(`${chapter}.`));
      assert.ok(PAGE.includes(countLine(title, rows)), countLine(title, rows));
    }
    assert.ok(PAGE.includes(countLine('all', ROWS)), countLine('all', ROWS));
    const open = ROWS.filter(({ state }) => state === 'not met').length;
    assert.ok(PAGE.includes(`Of the ${open} that are not met`), `${open} are not met`);
  });

  for (const { number, state, reason } of ROWS) {
    test(`${number}: ${state}`, () => {
      assert.ok(STATES.some((one) => one === state));
      const files = [...reason.matchAll(NAMED_FILE)].map(([, file = '']) => file);
      if (state === 'met') assert.ok(files.length > 0, 'what is met is shown by a file or a test');
      for (const file of files) assert.ok(existsSync(new URL(file, ROOT)), `${file} is there`);
      const named = [...reason.matchAll(NAMED_TEST)];
      const tests = files.filter((file) => file.endsWith('.test.ts'));
      assert.equal(named.length, tests.length, 'a test file is named with a title');
      for (const [, file = '', title = ''] of named) {
        const text = readFileSync(new URL(file, ROOT), 'utf8');
        const begins = ["'", '"', '`'].some((quote) => text.includes(`(${quote}${title}`));
        assert.ok(begins, `${file} has a test that begins with "${title}"`);
      }
    });
  }
});
