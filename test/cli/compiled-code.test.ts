import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { COMPILE_FLAGS, runToCompile } from '../../build/compiled-code.ts';
import { findNode, OWN_PLATFORM } from '../../build/pinned-node.ts';
import { temporaryFolder } from '../support/server-process.ts';

const PROGRAM =
  '(function () { function one() { return () => 1; } function two() { return () => 2; }' +
  ' return { one, two }; })';

/** Calls functions of a program in an order, as the load of a machine decides it, and writes their code. */
const COMPILE =
  'const [program, file, ...names] = process.argv.slice(1);' +
  "const script = new vm.Script(fs.readFileSync(program, 'utf8'), { filename: 'berth.cjs' });" +
  'const functions = script.runInThisContext()();' +
  'for (const name of names) functions[name]()();' +
  'fs.writeFileSync(file, script.createCachedData());';

test('compiled code does not tell in which order it was compiled', (t) => {
  const folder = temporaryFolder(t);
  const program = join(folder, 'program.js');
  writeFileSync(program, PROGRAM);
  const orders = [
    ['one', 'two'],
    ['two', 'one'],
  ].map((order) => {
    const file = join(folder, order.join());
    const words = [...COMPILE_FLAGS, '-e', COMPILE, program, file, ...order];
    execFileSync(findNode(OWN_PLATFORM), words, { env: {} });
    const compiled = readFileSync(file);
    runToCompile('number-functions.ts', program, file);
    return { compiled, numbered: readFileSync(file) };
  });
  const [first, second] = orders;
  assert.ok(first !== undefined && second !== undefined);
  assert.ok(!first.compiled.equals(second.compiled), 'V8 no longer numbers functions: this is not needed.');
  assert.ok(first.numbered.equals(second.numbered));
});
