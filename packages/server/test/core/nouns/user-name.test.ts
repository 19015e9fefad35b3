import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { explainUnfit, foldCase, userNameOf, withFoldedUser } from '../../../src/core/nouns/user-name.ts';
import { consume, register } from '../examples.ts';

/** The unit `binary` means the same, but first makes a list of the million characters. */
const character = fc
  .integer({ min: 0, max: 0x10ffff })
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code));

describe('the name of a user', () => {
  test('is the same however its accents are encoded, and without outer blanks', () => {
    assert.equal(userNameOf(' jose\u0301\u00a0\t'), 'jos\u00e9');
    assert.equal(userNameOf('\ufeffada lovelace'), 'ada lovelace');
  });

  test('keeps its case', () => assert.equal(userNameOf('Ada'), 'Ada'));

  test('is the same when it is normalized again', () => {
    fc.assert(
      fc.property(fc.string({ unit: character }), (text) => {
        const name = userNameOf(text);
        assert.equal(userNameOf(name), name);
        assert.equal(foldCase(foldCase(name)), foldCase(name));
      }),
      { numRuns: 2000 },
    );
  });

  test('has an error that names the invalid character', () => {
    assert.equal(explainUnfit('ad\u202ea'), 'must not contain the invisible character U+202E');
    assert.equal(explainUnfit('ada'), null);
  });
});

describe('a store that ignores case', () => {
  test('identifies a user by the folded name, and remembers the spelling', () => {
    const command = withFoldedUser(register('Ada'));
    assert.deepEqual([command.user, command.spelling], ['ada', 'Ada']);
    assert.equal(withFoldedUser(register('STRASSE')).user, withFoldedUser(register('straße')).user);
  });

  test('leaves folded names and empty ones alone', () => {
    const command = register('ada');
    assert.equal(withFoldedUser(command), command);
    const nobody = consume(1, { user: null });
    assert.equal(withFoldedUser(nobody), nobody);
  });
});
