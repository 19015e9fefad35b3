// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the sources under test hold template literals.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { findFunctionBodies, maskSource } from './scanner.ts';

const masks: [title: string, source: string, masked: string][] = [
  ['a line comment', 'a; // b {\nc', 'a;       \nc'],
  ['a block comment', 'a /* {\n */ c', 'a     \n    c'],
  ['a string with an escaped quote', "f('a\\'{');", "f('    ');"],
  ['a template with code in it', 'f(`a{${b}c`);', 'f(`    b  `);'],
  ['braces inside of an interpolation', 'f(`${g({ a: 1 })}{`);', 'f(`  g({ a: 1 })  `);'],
  ['a template inside of a template', 'f(`{${g(`}${a}`)}{`);', 'f(`   g(`   a `)  `);'],
  ['a regular expression with a class', 'f(/[/"{]/g);', 'f(/       );'],
  ['a regular expression after return', "return /'/;", 'return / /;'],
  ['a division', "a / b; '{' / c;", "a / b; ' ' / c;"],
  ['a division after a parenthesis', '(a) / b / c', '(a) / b / c'],
];

const bodies: [title: string, source: string, count: number][] = [
  ['a declaration', 'function f() {}', 1],
  ['a generator and a private method', 'class A { *f() {} #g() {} }', 2],
  ['an accessor and a computed name', 'class A { get a() {} [Symbol.iterator]() {} }', 2],
  ['a method of a literal', 'const a = { f(b = {}) {}, async g() {} };', 2],
  ['a generic function', 'function f<T extends { a: B }>(c: T): Map<T, { d: E }[]> {}', 1],
  ['a function which returns a function', 'function f(): () => void {}', 1],
  ['a return type in parentheses', 'function f(): ({ a: B } | (() => C))[] {}', 1],
  ['a return type which is a literal', "function f(): 'a' | { b: C } {}", 1],
  ['a predicate', 'function f(a: B): asserts a is { b: C } {}', 1],
  ['an arrow without a block', 'const f = (a) => a;', 0],
  ['an arrow which returns an object', 'const f = (a) => ({ a });', 0],
  ['an arrow in a type annotation', 'const f: (a: B) => C = (a): C => {};', 1],
  ['control flow', 'if (a) {} else if (b) {} for (;;) {} while (a) {} try {} catch (e) {}', 0],
  ['a loop which awaits', 'for await (const a of b) {}', 0],
  ['an interface', 'interface A { f(a: B): { c: D }; g(): void }', 0],
  ['a choice', 'const a = b ? f(c) : { d };', 0],
  ['a case in braces', 'switch (a) { case f(b): {} case c: {} }', 0],
  ['a class which extends a call', 'class A extends f(B) {}', 0],
];

describe('maskSource', () => {
  for (const [title, source, masked] of masks) {
    test(title, () => assert.equal(maskSource(source), masked));
  }

  test('keeps the length and every line of any text', () => {
    const fragment = fc.constantFrom('/', '*', '`', '${', '}', '{', "'", '"', '\\', '\n', 'a', ' ', '[', '(');
    fc.assert(
      fc.property(fc.array(fragment), (fragments) => {
        const text = fragments.join('');
        const lengths = (source: string) => source.split('\n').map((line) => line.length);
        assert.deepEqual(lengths(maskSource(text)), lengths(text));
        findFunctionBodies(maskSource(text));
      }),
    );
  });
});

describe('findFunctionBodies', () => {
  for (const [title, source, count] of bodies) {
    test(title, () => assert.equal(findFunctionBodies(maskSource(source)).length, count));
  }

  test('finds the function that gets a callback', () => {
    const found = findFunctionBodies("describe.skip('a', () => { test('b', async (t) => {}); });");
    assert.deepEqual(
      found.map((body) => body.callee),
      ['describe.skip', 'test'],
    );
  });
});
