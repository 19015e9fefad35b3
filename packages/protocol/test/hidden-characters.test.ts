import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  escapeHidden,
  escapeJsonText,
  escapeUnprintable,
  findHidden,
  withoutHidden,
} from '../src/hidden-characters.ts';

describe('a name with an invisible character', () => {
  const REFUSED: readonly [string, string][] = [
    ['a\u202eb', 'U+202E'],
    ['a\u2066b', 'U+2066'],
    ['\u200ea', 'U+200E'],
    ['a\u061cb', 'U+061C'],
    ['a\u200bb', 'U+200B'],
    ['a\u00adb', 'U+00AD'],
    ['a\ufeffb', 'U+FEFF'],
    ['a\u2060b', 'U+2060'],
    ['a\u3164b', 'U+3164'],
    ['a\u2800b', 'U+2800'],
    ['a\u2028b', 'U+2028'],
    ['a\u{e0041}b', 'U+E0041'],
  ];
  for (const [name, code] of REFUSED) {
    test(`is refused by ${code}`, () => assert.equal(findHidden(name), code));
  }

  test('is accepted where it joins letters or selects a variant', () => {
    for (const name of ['می\u200cخواهم', '\u{1f469}\u200d\u{1f4bb}', '❤\ufe0f', '葛\u{e0100}', 'ada', 'Zoë'])
      assert.equal(findHidden(name), null, JSON.stringify(name));
  });

  test('is refused if nothing else is visible', () => {
    assert.equal(findHidden('\u200d\u200c'), 'U+200D');
    assert.equal(findHidden('\ufe0f'), 'U+FE0F');
  });
});

test('hidden characters are removed, joiners and selectors too', () => {
  assert.equal(withoutHidden('b\u200do\u200cb\ufe0f\u202e'), 'bob');
});

test('a name on a page shows what it must not contain, and keeps joiners', () => {
  assert.equal(escapeHidden('ann\u202enimda\u{e0041}'), 'ann\\u{202e}nimda\\u{e0041}');
  assert.equal(escapeHidden('b\u200dob \u2764\ufe0f'), 'b\u200dob \u2764\ufe0f');
});

test('text for a terminal shows control and invisible characters', () => {
  assert.equal(escapeUnprintable('a\u001b[2Jb\u009b\u0007'), 'a\\u{1b}[2Jb\\u{9b}\\u{7}');
  assert.equal(escapeUnprintable('x\u202ey\u200dz\u{e0041}'), 'x\\u{202e}y\\u{200d}z\\u{e0041}');
  assert.equal(escapeUnprintable('lone \ud800 end'), 'lone \\u{d800} end');
  assert.equal(escapeUnprintable('Zoë 山田 \u{1f600} \\'), 'Zoë 山田 \u{1f600} \\');
});

test('JSON text stays the same JSON', () => {
  const value = { name: 'a\u001b\u009b\u202e\u{e0041}\u2028\ud800"\\', list: ['Zoë', 1] };
  const escaped = escapeJsonText(JSON.stringify(value, null, 2));
  assert.deepEqual(JSON.parse(escaped), value);
  assert.match(escaped, /^[\n\x20-\x7eë]*$/);
});
