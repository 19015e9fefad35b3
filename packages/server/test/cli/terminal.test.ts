import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatFacts, formatTable } from '@berth/shell/console/console-text';
import { describeSettings } from '../../src/cli/usage.ts';
import { SETTINGS } from '../../src/settings.ts';

describe('what people read', () => {
  test('a table has columns as wide as their widest cell, and no blanks at the end', () => {
    const table = formatTable(
      ['id', 'user', 'until'],
      [
        [1, 'ann', null],
        [20, 'b', '2030'],
      ],
    );
    assert.equal(table, 'id  user  until\n1   ann   -\n20  b     2030');
  });

  test('a table may be long', () => {
    const rows = Array.from({ length: 200_000 }, (_, index) => [index, 'x']);
    assert.ok(formatTable(['n', 'x'], rows).endsWith('\n199999  x'));
  });

  test('facts are listed one per line', () => {
    assert.equal(formatFacts({ a: 1, long: null, list: [1] }), 'a     1\nlong  -\nlist  [1]');
  });

  test('the page of settings has each one with its three names', () => {
    const page = describeSettings();
    for (const { path } of SETTINGS) assert.ok(page.includes(`      ${path}: `), path);
    assert.match(page, /--log-slow-request-ms, BERTH_LOG_SLOW_REQUEST_MS\n/);
  });
});

test('what a terminal would obey is written as a number', () => {
  assert.equal(formatTable(['user'], [['\u202eresu\u001b[2J']]), 'user\n\\u{202e}resu\\u{1b}[2J');
});
