import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { countDiff, diffLines, foldDiff, listChanged, readDiff } from '../../src/words/line-diff.ts';

/** One letter for each line. */
function compare(before: string, after: string): string {
  const lines = diffLines([...before].join('\n'), [...after].join('\n'));
  return lines.map(({ sign, text, number }) => `${sign}${text}${number}`).join('|');
}

describe('the difference of two texts', () => {
  test('keeps as many lines as it can, and numbers each in its own text', () => {
    assert.equal(compare('abcd', 'abcd'), ' a1| b2| c3| d4');
    assert.equal(compare('abcd', 'aBcd'), ' a1|-b2|+B2| c3| d4');
    assert.equal(compare('abcde', 'bcxde'), '-a1| b1| c2|+x3| d4| e5');
    assert.equal(compare('aaa', 'aa'), ' a1| a2|-a3');
  });

  test('puts both texts together again, whatever they are', () => {
    let seed = 7;
    const next = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    const write = () => Array.from({ length: next(9) }, () => 'abc'[next(3)]).join('\n');
    for (let turn = 0; turn < 500; turn++) {
      const [before, after] = [write(), write()];
      const lines = diffLines(before, after);
      const join = (left: string) =>
        lines
          .filter(({ sign }) => sign !== left)
          .map(({ text }) => text)
          .join('\n');
      assert.equal(join('+'), before);
      assert.equal(join('-'), after);
      for (const { sign, text, number } of lines) {
        assert.equal((sign === '-' ? before : after).split('\n')[number - 1], text);
      }
    }
  });

  test('is read as the server writes it', () => {
    assert.deepEqual(readDiff(' a\n-b\n+B\n c'), diffLines('a\nb\nc', 'a\nB\nc'));
  });

  test('of large texts takes no more than it must, and is still complete', () => {
    const before = Array.from({ length: 3000 }, (_, line) => `old ${line}`).join('\n');
    const after = Array.from({ length: 3000 }, (_, line) => `new ${line}`).join('\n');
    assert.deepEqual(countDiff(diffLines(`same\n${before}`, `same\n${after}`)), {
      added: 3000,
      removed: 3000,
    });
  });

  test('marks the lines that are new, and folds those far from any change', () => {
    const lines = diffLines('a\nb\nc\nd\ne\nf\ng\nh', 'a\nb\nc\nd\ne\nf\nG\nh');
    assert.deepEqual([...listChanged(lines)], [7]);
    const folded = foldDiff(lines, 1).map((line) => line && `${line.sign}${line.text}`);
    assert.deepEqual(folded, [' f', '-g', '+G', ' h']);
    const both = foldDiff(diffLines('a\nb\nc\nd\ne', 'A\nb\nc\nd\nE'), 1);
    assert.deepEqual(
      both.map((line) => line && `${line.sign}${line.text}`),
      ['-a', '+A', ' b', null, ' d', '-e', '+E'],
    );
    assert.deepEqual(foldDiff(diffLines('a', 'a')), []);
  });
});
