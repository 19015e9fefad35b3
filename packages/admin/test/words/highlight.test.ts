import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { splitLine } from '../../src/words/highlight.ts';

/** Pieces that have a colour, with their kinds. */
function colour(line: string): readonly string[] {
  return splitLine(line)
    .filter(({ kind }) => kind !== 'plain')
    .map(({ kind, text }) => `${kind} ${text}`);
}

describe('the pieces of a line', () => {
  test('are keys, values, marks and comments', () => {
    assert.deepEqual(colour('  - { slots: 4, for: cad-team }  # four'), [
      ...['mark -', 'mark {', 'key slots', 'mark :', 'value 4', 'mark ,'],
      ...['key for', 'mark :', 'value cad-team', 'mark }', 'comment # four'],
    ]);
    assert.deepEqual(colour('"cad pro":'), ['key "cad pro"', 'mark :']);
  });

  test('keep what only looks like a mark', () => {
    assert.deepEqual(colour('- "a: b # c"'), ['mark -', 'value "a: b # c"']);
    assert.deepEqual(
      colour('[fe80::1, ws-1*, a#b]').filter((piece) => piece.startsWith('value')),
      ['value fe80::1', 'value ws-1*', 'value a#b'],
    );
  });

  test('put together are the line, also while it is being typed', () => {
    const lines = [
      '',
      '   ',
      '"open',
      "'",
      ':',
      '-',
      '--',
      '{{',
      'a:b',
      'a :b',
      '#',
      'x: "y" z: 😀\t#',
      ',,:,',
    ];
    for (const line of lines) {
      assert.equal(
        splitLine(line)
          .map(({ text }) => text)
          .join(''),
        line,
      );
    }
  });
});
