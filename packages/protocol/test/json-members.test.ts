import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compactWithout, findMemberText, splitMembers } from '../src/json-members.ts';
import { JsonTextError } from '../src/json-text.ts';

describe('the members of an object as they are written', () => {
  test('keep their order, also those that look like numbers', () => {
    const text = '{"b":1,"10":2,"a":3,"9":4,"0":5}';
    assert.deepEqual(
      splitMembers(text).map(({ name }) => name),
      ['b', '10', 'a', '9', '0'],
    );
    assert.equal(compactWithout(text, []), text);
    assert.notEqual(JSON.stringify(JSON.parse(text)), text, 'which parsing and writing again would not');
  });

  test('keep their spelling: escapes, numbers, letters', () => {
    const text = '{"\\u0061\\/":"\\u00fc\\/\\"","n":1.50,"e":1e2,"z":-0,"ü":"\u2028"}';
    assert.equal(compactWithout(text, []), text);
    assert.equal(splitMembers(text)[0]?.name, 'a/');
    assert.equal(findMemberText(text, 'a/'), '"\\u00fc\\/\\""');
    assert.equal(findMemberText(text, 'n'), '1.50');
    assert.equal(findMemberText(text, 'z'), '-0');
  });

  test('lose the blanks between them, but none inside text', () => {
    const text = ' {\t"a b" :\r\n[ 1 , {"c" : " , : "} ] , "d":\n"x  y" } ';
    assert.equal(compactWithout(text, []), '{"a b":[1,{"c":" , : "}],"d":"x  y"}');
    assert.equal(findMemberText(text, 'a b'), '[1,{"c":" , : "}]');
  });

  test('are separated whatever their values contain', () => {
    const text = '{"a":"},{","b":{"c":[",",{"d":"]"}]},"e":"\\\\","f":"\\"","g":null}';
    assert.deepEqual(
      splitMembers(text).map(({ name }) => name),
      ['a', 'b', 'e', 'f', 'g'],
    );
    assert.equal(findMemberText(text, 'c'), undefined, 'those of inner objects are not among them');
    assert.equal(findMemberText(text, 'e'), '"\\\\"');
  });

  test('are removed by their name, however it is spelled', () => {
    assert.equal(compactWithout('{"a":1,"\\u0062":2,"c":3}', ['b']), '{"a":1,"c":3}');
    assert.equal(compactWithout('{"a":1}', ['a']), '{}');
    assert.equal(compactWithout('{}', ['a']), '{}');
    assert.equal(compactWithout('{"a":{"b":1},"b":2}', ['b']), '{"a":{"b":1}}', 'inner ones stay');
  });

  test('a repeated name is refused, even in two spellings', () => {
    for (const text of ['{"a":1,"a":2}', '{"a":1,"\\u0061":1}', '{"x":{"a":1,"a":1}}', '{"__proto__":1}']) {
      assert.throws(() => splitMembers(text), JsonTextError, text);
    }
  });

  test('what is not an object has none', () => {
    for (const text of ['[]', '"a"', '1', 'null', '[{"a":1}]']) assert.deepEqual(splitMembers(text), []);
    for (const text of ['', '{', '{"a":1}}', '{"a":1,}'])
      assert.throws(() => splitMembers(text), JsonTextError);
  });
});
