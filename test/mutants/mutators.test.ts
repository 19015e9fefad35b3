import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { createVirtualFileSystem } from 'typescript/unstable/fs';
import { API } from 'typescript/unstable/sync';
import { isCovered } from './coverage.ts';
import { listChanges } from './mutators.ts';
import { applyChange } from './typed-sources.ts';

const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  'a < b;': ['{}', 'a <= b;', 'a >= b;'],
  'const c = a && !b;': ['const c = a || !b;', 'const c = a && b;'],
  'const c = a ?? b;': ['const c = a;', 'const c = b;'],
  'const c = a ? 2 : b;': ['const c = 2;', 'const c = b;', 'const c = a ? 3 : b;', 'const c = a ? 1 : b;'],
  'if (a) b();': ['if (true) b();', 'if (false) b();', 'if (a) {}'],
  'const c = { ...a, b: true };': [
    'const c = { ...{}, b: true };',
    'const c = { ...a, ...{} };',
    'const c = { ...a, b: false };',
  ],
  'const c = a.filter(b);': ['const c = a;'],
  'const c = Math.min(a, b);': ['const c = Math.max(a, b);'],
  'const c = [a];': ['const c = [];'],
  "const c = 'a';": ["const c = '';"],
  "const c = 'SELECT a WHERE b > c AND d = e';": [
    "const c = 'SELECT a WHERE b >= c AND d = e';",
    "const c = 'SELECT a WHERE b > c AND d <> e';",
    "const c = 'SELECT a WHERE b > c OR d = e';",
  ],
  "type T = 'a' | 1;": [],
  "import a from 'b';": [],
  "throw new Error('a');": ['{}'],
};

describe('mutants', () => {
  const files = Object.keys(EXAMPLES).map((text, n) => [`/example/${n}.ts`, text] as const);
  const config = ['/example/tsconfig.json', '{ "compilerOptions": { "noLib": true } }'];
  const api = new API({
    cwd: '/example',
    fs: createVirtualFileSystem(Object.fromEntries([...files, config])),
  });
  after(() => api.close());
  const project = api
    .updateSnapshot({ openProjects: ['/example/tsconfig.json'] })
    .getProject(config[0] ?? '');

  for (const [file, text] of files) {
    test(text, () => {
      const source = project?.program.getSourceFile(file);
      assert.ok(source);
      const mutants = listChanges(source).map((change) => applyChange(text, change));
      assert.deepEqual(mutants.sort(), [...(EXAMPLES[text] ?? [])].sort());
    });
  }
});

describe('coverage', () => {
  const range = (startOffset: number, endOffset: number, count: number) => ({
    startOffset,
    endOffset,
    count,
  });

  test('the innermost range counts', () => {
    const coverage = { 'a.ts': [[range(0, 100, 1), range(10, 50, 2), range(20, 30, 0)]] };
    const covered = [15, 25, 35].map((offset) => isCovered(coverage, 'a.ts', offset));
    assert.deepEqual(covered, [true, false, true]);
    assert.equal(isCovered(coverage, 'b.ts', 15), false);
  });

  test('constants are covered by those who use the file', () => {
    assert.equal(isCovered({ 'a.ts': [[range(0, 100, 1), range(10, 50, 0)]] }, 'a.ts', 5), false);
    assert.equal(isCovered({ 'a.ts': [[range(0, 100, 1), range(10, 50, 1)]] }, 'a.ts', 5), true);
    assert.equal(isCovered({ 'a.ts': [[range(0, 100, 1)]] }, 'a.ts', 5), true);
  });
});
