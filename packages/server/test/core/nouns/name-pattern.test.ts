import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { fitsPattern, foldName, parsePattern } from '../../../src/core/nouns/name-pattern.ts';

function fits(name: string, pattern: string): boolean {
  return fitsPattern(foldName(name), parsePattern(pattern));
}

/** The same question in the words of a regular expression. */
function fitsByRegExp(name: string, pattern: string): boolean {
  const source = foldName(pattern)
    .split('*')
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
    .join('[^]*');
  return new RegExp(`^${source}$`).test(foldName(name));
}

describe('a pattern', () => {
  for (const [pattern, fitting, others] of [
    ['ada', ['ada', 'Ada', 'ADA'], ['', 'ad', 'adaa', ' ada', 'xada']],
    ['ext-*', ['ext-', 'EXT-7', 'ext-*', 'ext-a-b'], ['ext', 'xext-7', 'intext-']],
    ['*@corp.example', ['ada@corp.example', '@corp.example'], ['ada@corpxexample', 'ada@corp.example.org']],
    ['a*b*c', ['abc', 'aXbYc', 'abbbc', 'acbc'], ['ab', 'ac', 'acb', 'abcd']],
    ['aba*ba', ['abaxba', 'ababa', 'ababba'], ['aba', 'abba']],
    ['*', ['', 'anybody'], []],
    ['**', ['', 'anybody'], []],
    ['a.c', ['a.c'], ['abc']],
    ['[a-z]+', ['[A-Z]+'], ['a']],
    ['jos\u00e9', ['jose\u0301', 'JOS\u00c9'], ['jose']],
    [
      'bob',
      ['\uff42\uff4f\uff42', '\uff22\uff2f\uff22', 'b\u200dob', 'b\u200bo\ufe0fb', '\u202ebob'],
      ['boob'],
    ],
    ['\uff42ob*', ['bob', 'BOB-2'], ['ob']],
    ['a\uff0ab', ['a*b', 'A\uff0aB'], ['ab', 'aXb']],
  ] as const) {
    test(`"${pattern}"`, () => {
      for (const name of fitting) assert.equal(fits(name, pattern), true, `${name} fits`);
      for (const name of others) assert.equal(fits(name, pattern), false, `${name} does not fit`);
    });
  }

  test('means the same as a regular expression with the same stars', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'A', '.', '-'), maxLength: 12 });
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', 'B', '.', '*', '*'), maxLength: 8 });
    fc.assert(
      fc.property(letters, pattern, (name, one) => {
        assert.equal(fits(name, one), fitsByRegExp(name, one));
      }),
      { numRuns: 5000 },
    );
  });

  test('matches every name that it was made from by replacing parts with stars', () => {
    const pieces = fc.array(fc.record({ text: fc.string({ maxLength: 5 }), isStarred: fc.boolean() }));
    fc.assert(
      fc.property(pieces, (made) => {
        const name = made.map(({ text }) => text).join('');
        const pattern = made.map(({ text, isStarred }) => (isStarred ? '*' : text)).join('');
        assert.equal(fits(name, pattern), true);
      }),
    );
  });

  test('does not backtrack where it nearly matches', () => {
    // A matcher that goes back on its choices takes longer than anybody lives.
    assert.equal(fits('a'.repeat(256), `${'*a'.repeat(127)}*b`), false);
    assert.equal(fits(`${'a'.repeat(255)}b`, `${'*a'.repeat(127)}*b`), true);
  });
});

test('letters that differ only in some case forms are the same', () => {
  assert.ok(fits('ΟΔΟΣΑ', 'οδος*') && fits('οδος', 'ΟΔΟΣ'));
  assert.ok(fits('straße', 'STRASSE'));
});
