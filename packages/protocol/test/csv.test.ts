import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatCsv } from '../src/csv.ts';

test('quotes what CSV needs quoted', () => {
  const rows = [
    ['plain', 1, null, true],
    ['a,b', -2, 'say "x"', false],
    [' outer ', 0.5, 'two\nlines', null],
  ];
  assert.equal(
    formatCsv(['a', 'b', 'c', 'd'], rows),
    'a,b,c,d\r\nplain,1,,true\r\n"a,b",-2,"say ""x""",false\r\n" outer ",0.5,"two\nlines",\r\n',
  );
});

test('no text is a formula to a spreadsheet, and numbers stay numbers', () => {
  for (const text of ['=1+1', '+1', '-1', '@sum(A1)', '\tx', '\rx', '＝1', '＠x']) {
    const [, cell = ''] = formatCsv(['name'], [[text]]).split('name\r\n');
    assert.match(cell, /^"?'/, text);
  }
  assert.equal(formatCsv(['n'], [[-1]]), 'n\r\n-1\r\n');
});
