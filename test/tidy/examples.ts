import { accept, CLOUD, type Example, type Rejected, reject, SERVER } from './example.ts';
import { acceptedImports, rejectedImports } from './import-examples.ts';
import type { SourceFile } from './source.ts';

/** A block of that many lines, counting those of its braces. */
function block(lines: number): string {
  return `{\n${'  run();\n'.repeat(lines - 2)}}`;
}

// Joined, as the words must not stand in this file either.
const UNFINISHED = ['TO', 'DO'].join('');
const SHARED = ['..', 'shared', 'note.md'].join('/');
const REGISTRY = ['registry', 'npmjs', 'org'].join('.');

const LOCK_WITH_SCRIPTS = {
  path: 'package-lock.json',
  text: `${JSON.stringify({
    packages: {
      'node_modules/a': { hasInstallScript: true },
      'node_modules/@b/c': { hasInstallScript: true },
    },
  })}\n`,
};

const SERVER_MANIFEST = {
  path: 'packages/server/package.json',
  text: '{ "dependencies": { "a": "1.2.3" } }\n',
};

const rejectedPurity: Rejected[] = [
  reject('core-purity', 'the time', `${SERVER}/core/a.ts`, 'export const now =\n  Date.now();\n', 2),
  reject('core-purity', 'a new date', `${SERVER}/core/a.ts`, 'export const now = new Date();\n'),
  reject('core-purity', 'a time inside a template', `${SERVER}/core/a.ts`, 'f(`at ${' + 'Date.now()}`);\n'),
  reject('core-purity', 'performance', `${SERVER}/core/a.ts`, 'const { now } = performance;\n'),
  reject('core-purity', 'chance', `${SERVER}/core/a.ts`, 'const x = Math.random();\n'),
  reject('core-purity', 'cryptography', `${SERVER}/core/a.ts`, 'const x = crypto.randomUUID();\n'),
  reject('core-purity', 'the environment', `${SERVER}/core/a.ts`, 'const x = process.env;\n'),
  reject('core-purity', 'a timer', `${SERVER}/core/a.ts`, 'setTimeout(f, 1);\n'),
  reject('core-purity', 'a promise', `${SERVER}/core/a.ts`, 'export async function f() {}\n'),
  reject('core-purity', 'the network', `${SERVER}/core/a.ts`, 'const x = fetch(address);\n'),
  reject(
    'refusal-origin',
    'a service which refuses',
    `${SERVER}/services/a.ts`,
    "import { type Refused, refuse } from '../core/outcome.ts';\n",
  ),
  reject(
    'refusal-origin',
    'a store which refuses',
    `${SERVER}/store/a.ts`,
    "\nreturn { kind: 'refused' };\n",
    2,
  ),
  reject('edited-sql', 'a statement', `${SERVER}/store/a.ts`, "\nrun(one.sql.replace('a', 'b'));\n", 2),
  reject('edited-sql', 'a constant', `${SERVER}/store/sqlite/a.ts`, "run(LIST_ALL.replaceAll('a', 'b'));\n"),
  reject('one-clock', 'the time', `${SERVER}/http/a.ts`, 'const now = Date.now();\n'),
  reject('one-clock', 'a new date', `${SERVER}/http/a.ts`, 'const now = new Date( );\n'),
  reject('one-clock', 'a date without parentheses', `${SERVER}/http/a.ts`, 'const now = new Date;\n'),
  reject('one-clock', 'a monotonic time', `${SERVER}/http/a.ts`, 'const now = performance.now();\n'),
  reject('one-clock', 'a time of the process', 'packages/client/src/a.ts', 'process.hrtime.bigint();\n'),
  reject('core-purity', 'a file in the protocol', 'packages/protocol/src/a.ts', 'const x = process.cwd();\n'),
  reject('core-purity', 'a time in the cloud', `${CLOUD}/core/a.ts`, 'const now = Date.now();\n'),
  reject('one-clock', 'a time in the cloud', `${CLOUD}/store/a.ts`, 'const now = Date.now();\n'),
  reject('console-log', 'a cloud which prints', `${CLOUD}/http/a.ts`, 'console.log(1);\n'),
  reject('console-log', 'a service which prints', `${SERVER}/services/a.ts`, '\nconsole.log(1);\n', 2),
  reject('unfinished', 'a note to oneself', 'test/a.ts', `\n// ${UNFINISHED}: later\n`, 2),
];

const rejectedSizes: Rejected[] = [
  reject('file-length', 'a file of 401 lines', `${SERVER}/a.ts`, 'run();\n'.repeat(401), 401),
  reject('function-length', 'a function', `${SERVER}/a.ts`, `function f() ${block(71)}\n`),
  reject('function-length', 'a typed function', `${SERVER}/a.ts`, `function f(): A<{ b: C }> ${block(71)}\n`),
  reject(
    'function-length',
    'a method',
    `${SERVER}/a.ts`,
    `class A {\n  f(a: B): a is C ${block(71)}\n}\n`,
    2,
  ),
  reject('function-length', 'an arrow function', `${SERVER}/a.ts`, `const f = (a: B): C => ${block(71)};\n`),
  reject('function-length', 'braces in text', `${SERVER}/a.ts`, `f(() => {\n'{'; /[}]{/;${block(70)}});\n`),
  reject('function-length', 'a test', 'test/a.test.ts', `test('a', async (t) => ${block(71)});\n`),
  reject('line-length', 'a line of 111 columns', 'test/a.ts', `run();\n// ${'x'.repeat(108)}\n`, 2),
];

const rejectedFiles: Rejected[] = [
  reject('default-export', 'a default export', 'test/a.ts', '\nexport default 1;\n', 2),
  reject('file-name', 'a vague name', 'packages/client/src/utils.ts', ''),
  reject('file-name', 'a name in camel case', 'test/someThing.ts', ''),
  {
    rule: 'dead-file',
    title: 'a file which only an unused one and a comment name',
    line: 1,
    files: [
      { path: `${SERVER}/core/a.ts`, text: "import './a.ts';\n" },
      { path: `${SERVER}/main.ts`, text: "// import './core/a.ts';\n" },
    ],
  },
  {
    rule: 'dead-file',
    title: 'a file that only its test imports',
    line: 1,
    files: [
      { path: `${SERVER}/core/a.ts`, text: '' },
      { path: 'packages/server/test/core/a.test.ts', text: "import '../../src/core/a.ts';\n" },
    ],
  },
  reject(
    'dead-file',
    'a file of the cloud that nobody imports',
    `${CLOUD}/core/a.ts`,
    'export const a = 1;\n',
  ),
  reject('outside-reference', 'the shared folder', 'docs/a.md', `See\n${SHARED}\n`, 2),
  reject('outside-reference', 'a registry', '.npmrc', `registry=https://${REGISTRY}/\n`),
  reject('lockfile', 'an address', 'package-lock.json', '{\n"resolved": "https://a.example/a.tgz"\n}\n', 2),
  reject('lockfile', 'a sponsor', 'package-lock.json', '{\n"url": "https://a.example/b"\n}\n', 2),
  reject('exact-version', 'a range', 'package.json', '{\n"dependencies": {\n"a": "^1.2.3"\n}\n}\n', 3),
  reject('install-script', 'a script', 'packages/a/package.json', '{ "scripts": { "prepare": "x" } }\n'),
  {
    rule: 'undeclared-package',
    title: 'a development package in the product',
    line: 2,
    files: [{ path: `${SERVER}/a.ts`, text: "import 'node:fs';\nimport '@b/c/d';\n" }, SERVER_MANIFEST],
  },
  {
    rule: 'undecided-script',
    title: 'a package that nobody has decided on',
    line: 1,
    files: [{ path: 'package.json', text: '{ "allowScripts": { "a": false } }\n' }, LOCK_WITH_SCRIPTS],
  },
];

/** So many files in one folder. */
function folderOf(count: number): SourceFile[] {
  return Array.from({ length: count }, (_, index) => ({ path: `${SERVER}/core/a${index}.ts`, text: '' }));
}

const rejectedStructure: Rejected[] = [
  { rule: 'crowded-folder', title: 'a folder of 26 files', line: 1, files: folderOf(26) },
  {
    rule: 'import-cycle',
    title: 'three files in a circle, one of them for a type',
    line: 2,
    files: [
      { path: `${SERVER}/a.ts`, text: "import './d.ts';\nimport './core/b.ts';\n" },
      { path: `${SERVER}/core/b.ts`, text: "import type { C } from './c.ts';\n" },
      { path: `${SERVER}/core/c.ts`, text: "import { a } from '@berth/server/a';\n" },
      { path: `${SERVER}/d.ts`, text: '' },
    ],
  },
  {
    rule: 'folder-cycle',
    title: 'two folders that import each other',
    line: 2,
    files: [
      { path: `${SERVER}/core/a.ts`, text: "import './b/c.ts';\nimport '../http/d.ts';\n" },
      { path: `${SERVER}/http/e.ts`, text: "import '../core/f.ts';\n" },
    ],
  },
  {
    rule: 'folder-cycle',
    title: 'three folders in a circle',
    line: 1,
    files: [
      { path: `${SERVER}/core/a/b.ts`, text: "import '../c/d.ts';\n" },
      { path: `${SERVER}/core/c/e.ts`, text: "import '../../http/f.ts';\n" },
      { path: `${SERVER}/http/g.ts`, text: "import '../core/a/h.ts';\n" },
    ],
  },
];

const rejectedExports: Rejected[] = [
  reject(
    'unused-export',
    'a type that its file alone uses',
    `${CLOUD}/a.ts`,
    '\nexport type A = 1;\nf<A>();\n',
    2,
  ),
  {
    rule: 'unused-export',
    title: 'a name that is imported from elsewhere',
    line: 1,
    files: [
      { path: `${SERVER}/http/a.ts`, text: 'export const a = 1;\n' },
      { path: `${SERVER}/http/b.ts`, text: "import { a } from './c.ts';\nimport { b } from './a.ts';\n" },
    ],
  },
];

const rejectedRegexes: Rejected[] = [
  reject(
    'linear-regex',
    'a repetition that is searched for',
    `${SERVER}/a.ts`,
    "a;\nb.replace(/\\/+$/, '');\n",
    2,
  ),
  reject('plain-regex', 'one that is put together', `${CLOUD}/a.ts`, "new RegExp(a + '$');\n"),
];

export const rejected: Rejected[] = [
  ...rejectedRegexes,
  ...rejectedImports,
  ...rejectedPurity,
  ...rejectedSizes,
  ...rejectedStructure,
  ...rejectedFiles,
  ...rejectedExports,
];

const acceptedPurity: Example[] = [
  accept('core-purity', 'a date of a value', `${SERVER}/core/a.ts`, "new Date(1); new Date('2024');\n"),
  accept('core-purity', 'a comment', `${SERVER}/core/a.ts`, '// Date.now() and process.env\n'),
  accept('core-purity', 'a property', `${SERVER}/core/a.ts`, 'const a = { process: b.process };\n'),
  accept(
    'core-purity',
    'a test of the core',
    'packages/server/test/core/a.test.ts',
    'await f(Date.now());\n',
  ),
  accept(
    'refusal-origin',
    'the core',
    `${SERVER}/core/lending/a.ts`,
    "import { refuse } from '../outcome.ts';\n",
  ),
  accept(
    'refusal-origin',
    'a store which passes a refusal on',
    `${SERVER}/store/a.ts`,
    "import type { Refused } from '../core/outcome.ts';\nif (outcome.kind === 'refused') return;\n",
  ),
  accept('one-clock', 'the clock', `${SERVER}/store/clock.ts`, 'export const now = () => Date.now();\n'),
  accept(
    'one-clock',
    'the clock of the cloud',
    `${CLOUD}/clock.ts`,
    'export const now = () => Date.now();\n',
  ),
  accept('one-clock', 'a test', 'test/a.ts', 'new Date();\n'),
  accept('console-log', 'a command', `${SERVER}/cli/a.ts`, 'console.log(1);\n'),
  accept('console-log', 'a command of the cloud', `${CLOUD}/cli/a.ts`, 'console.log(1);\n'),
  accept('console-log', 'the entry', `${SERVER}/main.ts`, 'console.log(1);\n'),
];

const acceptedSizes: Example[] = [
  accept('file-length', 'a file of 400 lines', 'test/a.ts', 'run();\n'.repeat(400)),
  accept('function-length', '70 lines', 'test/a.ts', `function f(): void ${block(70)}\n`),
  accept('function-length', 'a class', 'test/a.ts', `class A extends mix(B) ${block(90)}\n`),
  accept('function-length', 'a switch', 'test/a.ts', `switch (a) ${block(90)}\n`),
  accept('function-length', 'tags', 'test/a.tsx', `const a = () => <b>{c}</b>;\nfunction f() ${block(70)}\n`),
  accept('function-length', 'an object', 'test/a.ts', `const a = b ? f(c) : {\n${'a,\n'.repeat(90)}};\n`),
  accept('function-length', 'a case', 'test/a.ts', `switch (a) {\ncase f(b): ${block(90)}\ncase 2: {}\n}\n`),
  accept('function-length', 'a chapter', 'test/a.test.ts', `describe('a', { b: 1 }, () => ${block(90)});\n`),
  accept(
    'function-length',
    'a chapter for all stores',
    'test/a.test.ts',
    `describeStores('a', () => ${block(90)});\n`,
  ),
  accept('line-length', 'an address', 'test/a.ts', `// https://a.example/${'x'.repeat(120)}\n`),
];

const acceptedFiles: Example[] = [
  accept('default-export', 'a word', 'test/a.ts', "// export default\nconst a = 'export default';\n"),
  accept('file-name', 'a test in kebab-case', 'packages/server/test/core/two-words.test.ts', ''),
  accept('exact-version', 'a version', 'package.json', '{ "dependencies": { "a": "1.2.3-rc.1" } }\n'),
  accept('lockfile', 'a workspace', 'package-lock.json', '{ "resolved": "packages/server" }\n'),
  {
    rule: 'undeclared-package',
    title: 'a declared package, and any package in a test',
    files: [
      { path: `${SERVER}/a.ts`, text: "import 'a/b';\nimport './c.ts';\n" },
      { path: 'packages/server/test/a.test.ts', text: "import '@b/c';\n" },
      SERVER_MANIFEST,
    ],
  },
  {
    rule: 'undecided-script',
    title: 'scripts that are all denied',
    files: [
      { path: 'package.json', text: '{ "allowScripts": { "a": false, "@b/c": false } }\n' },
      LOCK_WITH_SCRIPTS,
    ],
  },
  accept('outside-reference', 'a variable', 'test/a.ts', 'registry.register(a);\n'),
  {
    rule: 'dead-file',
    title: 'every way to load a file',
    files: [
      { path: `${SERVER}/main.ts`, text: "import './a.ts';\nawait import('@berth/protocol/b');\n" },
      { path: `${SERVER}/a.ts`, text: "export * from './c.ts';\nnew URL('./d.ts', import.meta.url);\n" },
      { path: `${SERVER}/c.ts`, text: '' },
      { path: `${SERVER}/d.ts`, text: '' },
      { path: 'packages/protocol/src/b.ts', text: '' },
      { path: `${CLOUD}/main.ts`, text: "import './f.ts';\n" },
      { path: `${CLOUD}/f.ts`, text: '' },
    ],
  },
];

const acceptedStructure: Example[] = [
  {
    rule: 'crowded-folder',
    title: 'a folder of 25 files and their tests',
    files: [...folderOf(25), { path: 'packages/server/test/core/a0.test.ts', text: '' }],
  },
  {
    rule: 'import-cycle',
    title: 'two ways to the same file',
    files: [
      { path: `${SERVER}/a.ts`, text: "import './b.ts';\nimport './c.ts';\n" },
      { path: `${SERVER}/b.ts`, text: "import './c.ts';\n" },
      { path: `${SERVER}/c.ts`, text: '' },
    ],
  },
  {
    rule: 'folder-cycle',
    title: 'a folder and one within it',
    files: [
      { path: `${SERVER}/core/a.ts`, text: "import './b/c.ts';\n" },
      { path: `${SERVER}/core/b/d.ts`, text: "import '../e.ts';\n" },
    ],
  },
];

const acceptedExports: Example[] = [
  {
    rule: 'unused-export',
    title: 'every way to import a name',
    files: [
      { path: `${CLOUD}/a.ts`, text: 'export type A = 1;\nexport const b = 1;\nexport class C {}\n' },
      { path: `${CLOUD}/d.ts`, text: 'export async function d() {}\nexport type D = 1;\n' },
      { path: `${CLOUD}/f.ts`, text: "import type { D } from './d.ts';\nawait import('./d.ts');\n" },
      {
        path: `${CLOUD}/main.ts`,
        text: "import { type A, b as e } from './a.ts';\nexport const main = 1;\n",
      },
      { path: 'test/b.ts', text: "export { C } from '@berth/cloud/a';\nawait import('@berth/cloud/f');\n" },
    ],
  },
];

const acceptedRegexes: Example[] = [
  accept('linear-regex', 'one that begins at the start', `${SERVER}/a.ts`, "b.replace(/^\\/+$/, '');\n"),
  accept('linear-regex', 'a test', 'packages/server/test/a.test.ts', "b.replace(/\\/+$/, '');\n"),
  accept('linear-regex', 'one in a string', `${SERVER}/a.ts`, "f('/\\/+$/');\n"),
  accept('plain-regex', 'the type', `${SERVER}/a.ts`, 'const a: RegExp = b;\n'),
];

export const accepted: Example[] = [
  ...acceptedRegexes,
  ...acceptedImports,
  ...acceptedPurity,
  ...acceptedSizes,
  ...acceptedStructure,
  ...acceptedFiles,
  ...acceptedExports,
];
