import type { SourceFile } from './source.ts';

interface Example {
  rule: string;
  title: string;
  files: SourceFile[];
}

/** An example which breaks the rule once, in its first file on the line given. */
interface Rejected extends Example {
  line: number;
}

const SERVER = 'packages/server/src';
const CLOUD = 'packages/cloud/src';

function accept(rule: string, title: string, path: string, text: string): Example {
  return { rule, title, files: [{ path, text }] };
}

function reject(rule: string, title: string, path: string, text: string, line = 1): Rejected {
  return { ...accept(rule, title, path, text), line };
}

function rejectImport(title: string, path: string, specifier: string, folder = SERVER): Rejected {
  const text = `/* why */\nimport type { X } from '${specifier}';\n`;
  return reject('imports', title, `${folder}/${path}`, text, 2);
}

function rejectCloudImport(title: string, path: string, specifier: string): Rejected {
  return rejectImport(title, path, specifier, CLOUD);
}

function acceptImport(title: string, path: string, ...specifiers: string[]): Example {
  const text = specifiers.map((specifier) => `import { x } from '${specifier}';\n`).join('');
  return accept('imports', title, `${SERVER}/${path}`, text);
}

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

const rejectedImports: Rejected[] = [
  rejectImport('a route which imports the store', 'http/lend.ts', '../store/store.ts'),
  rejectImport('a command which imports the store', 'cli/lend.ts', '../store/store.ts'),
  rejectImport('a job which imports the config', 'background/expire.ts', '../config.ts'),
  rejectImport('a job which imports the protocol', 'background/expire.ts', '@berth/protocol/errors'),
  rejectImport('a service which picks its store', 'services/lend.ts', '../store/sqlite/sqlite-store.ts'),
  rejectImport('a service which picks its cloud', 'services/lend.ts', '../cloud/http-cloud.ts'),
  rejectImport('a service which imports a route', 'services/lend.ts', '../http/lend.ts'),
  rejectImport('a store port which imports its store', 'store/store.ts', './sqlite/sqlite-store.ts'),
  rejectImport('an engine which imports a store', 'store/engine/a.ts', '../sqlite/b.ts'),
  rejectImport('a store which imports the other', 'store/sqlite/a.ts', '../postgres/b.ts'),
  rejectImport('a cloud which imports a service', 'cloud/http-cloud.ts', '../services/lend.ts'),
  rejectImport('offline files which import the store', 'cloud/read-file.ts', '../store/store.ts'),
  rejectImport('secrets which import the config', 'secrets/seal.ts', '../config.ts'),
  rejectImport('telemetry which imports a service', 'telemetry/log.ts', '../services/lend.ts'),
  rejectImport('a core which imports a module of node', 'core/lend.ts', 'node:crypto'),
  rejectImport('a core which imports zod', 'core/lend.ts', 'zod'),
  rejectImport('a core which imports a service', 'core/lend.ts', '@berth/server/services/lend'),
  rejectImport('a config which imports a service', 'config.ts', './services/lend.ts'),
  rejectImport('an entry which imports a service', 'main.ts', './services/lend.ts'),
  rejectImport('a server which imports the client', 'compose/compose.ts', '@berth/client/client'),
  rejectImport('a server which imports a test', 'compose/compose.ts', '../../../../test/support/reporter.ts'),
  rejectImport('an import of a folder that is no room', 'compose/compose.ts', '../misc/thing.ts'),
  reject('imports', 'a file in no room', `${SERVER}/misc/thing.ts`, 'export const x = 1;\n'),
  reject('imports', 'a dynamic import', `${SERVER}/http/a.ts`, "\nawait import('../store/store.ts');\n", 2),
  reject('imports', 'a re-export', `${SERVER}/http/a.ts`, "export * from '../store/store.ts';\n"),
  reject('imports', 'a bare import', `${SERVER}/core/a.ts`, "import 'node:fs';\n"),
  reject('imports', 'a protocol of node', 'packages/protocol/src/a.ts', "import { x } from 'node:fs';\n"),
  reject('imports', 'a protocol of the server', 'packages/protocol/src/a.ts', "import '@berth/server/a';\n"),
];

const rejectedCloudImports: Rejected[] = [
  rejectCloudImport('a cloud which imports the server', 'http/a.ts', '@berth/server/core/nouns/license'),
  rejectCloudImport('a cloud which imports a test', 'store/a.ts', '../../../../test/support/reporter.ts'),
  rejectCloudImport('a core of the cloud which imports node', 'core/a.ts', 'node:crypto'),
  rejectCloudImport('a core of the cloud which imports zod', 'core/a.ts', 'zod'),
  rejectCloudImport('a core of the cloud which imports its store', 'core/a.ts', '../store/a.ts'),
  rejectCloudImport('a store of the cloud which imports a route', 'store/a.ts', '../http/a.ts'),
  rejectCloudImport('a store of the cloud which reads the clock', 'store/a.ts', '../clock.ts'),
  rejectCloudImport('a route of the cloud which imports a command', 'http/a.ts', '../cli/a.ts'),
  rejectCloudImport('an entry of the cloud which imports the store', 'main.ts', './store/a.ts'),
  rejectCloudImport('a clock of the cloud which imports the core', 'clock.ts', './core/a.ts'),
  rejectCloudImport('an import of a folder that is no room', 'cli/a.ts', '../misc/a.ts'),
  reject('imports', 'a file in no room of the cloud', `${CLOUD}/misc/thing.ts`, 'export const x = 1;\n'),
  reject('imports', 'a file beside the rooms of the cloud', `${CLOUD}/core.ts`, 'export const x = 1;\n'),
  rejectImport('a server which imports the cloud', 'compose/compose.ts', '@berth/cloud/http/app'),
];

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
  reject('one-clock', 'the time', `${SERVER}/http/a.ts`, 'const now = Date.now();\n'),
  reject('one-clock', 'a new date', `${SERVER}/http/a.ts`, 'const now = new Date( );\n'),
  reject('one-clock', 'a date without parentheses', `${SERVER}/http/a.ts`, 'const now = new Date;\n'),
  reject('one-clock', 'a monotonic time', `${SERVER}/http/a.ts`, 'const now = performance.now();\n'),
  reject('one-clock', 'a time of the process', 'packages/client/src/a.ts', 'process.hrtime.bigint();\n'),
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
    title: 'a file which only a dead one and a comment name',
    line: 1,
    files: [
      { path: `${SERVER}/core/a.ts`, text: "import './a.ts';\n" },
      { path: `${SERVER}/main.ts`, text: "// import './core/a.ts';\n" },
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
  ...rejectedCloudImports,
  ...rejectedPurity,
  ...rejectedSizes,
  ...rejectedStructure,
  ...rejectedFiles,
];

const acceptedImports: Example[] = [
  acceptImport('a route', 'http/a.ts', '../services/b.ts', '../config.ts', './c.ts', 'hono', 'node:http'),
  acceptImport('a job', 'background/a.ts', '../services/b.ts', '../core/c.ts', '../telemetry/log.ts'),
  acceptImport(
    'a service',
    'services/a.ts',
    '../store/store.ts',
    '../cloud/cloud.ts',
    '../cloud/read-file.ts',
  ),
  acceptImport('a store', 'store/sqlite/a.ts', '../store.ts', '../../secrets/seal.ts', 'node:sqlite'),
  acceptImport('a cloud', 'cloud/http-cloud.ts', './cloud.ts', '../core/a.ts'),
  acceptImport('the core', 'core/a.ts', './b.ts', '@berth/protocol/errors'),
  acceptImport('the entry', 'main.ts', './compose/a.ts', './cli/run.ts', './config.ts', 'node:process'),
  acceptImport('the composition', 'compose/a.ts', '../store/sqlite/a.ts', '../http/a.ts'),
  acceptImport('a test', 'http/a.test.ts', '../store/sqlite/a.ts', '@berth/client/client'),
  accept(
    'imports',
    'the protocol',
    'packages/protocol/src/a.ts',
    "import { z } from 'zod';\nimport './b.ts';\n",
  ),
  accept(
    'imports',
    'a route of the cloud',
    `${CLOUD}/http/a.ts`,
    "import 'hono';\nimport '@berth/protocol/errors';\nimport '../store/b.ts';\nimport '../clock.ts';\n",
  ),
  accept('imports', 'a command of the cloud', `${CLOUD}/cli/a.ts`, "import '../../package.json';\n"),
  accept('imports', 'an import in a string', `${SERVER}/core/a.ts`, 'f("import \'zod\'");\n'),
];

const acceptedPurity: Example[] = [
  accept('core-purity', 'a date of a value', `${SERVER}/core/a.ts`, "new Date(1); new Date('2024');\n"),
  accept('core-purity', 'a comment', `${SERVER}/core/a.ts`, '// Date.now() and process.env\n'),
  accept('core-purity', 'a property', `${SERVER}/core/a.ts`, 'const a = { process: b.process };\n'),
  accept('core-purity', 'a test of the core', `${SERVER}/core/a.test.ts`, 'await f(Date.now());\n'),
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
  accept('file-name', 'a test in kebab-case', `${SERVER}/core/two-words.test.ts`, ''),
  accept('exact-version', 'a version', 'package.json', '{ "dependencies": { "a": "1.2.3-rc.1" } }\n'),
  accept('lockfile', 'a workspace', 'package-lock.json', '{ "resolved": "packages/server" }\n'),
  {
    rule: 'undeclared-package',
    title: 'a declared package, and any package in a test',
    files: [
      { path: `${SERVER}/a.ts`, text: "import 'a/b';\nimport './c.ts';\n" },
      { path: `${SERVER}/a.test.ts`, text: "import '@b/c';\n" },
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
      { path: 'packages/client/src/e.ts', text: '' },
      { path: `${CLOUD}/main.ts`, text: "import './f.ts';\n" },
      { path: `${CLOUD}/f.ts`, text: '' },
      { path: 'test/run.ts', text: "import { e } from '@berth/client/e';\n" },
    ],
  },
];

const acceptedStructure: Example[] = [
  {
    rule: 'crowded-folder',
    title: 'a folder of 25 files and their tests',
    files: [...folderOf(25), { path: `${SERVER}/core/a0.test.ts`, text: '' }],
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
];

const acceptedRegexes: Example[] = [
  accept('linear-regex', 'one that begins at the start', `${SERVER}/a.ts`, "b.replace(/^\\/+$/, '');\n"),
  accept('linear-regex', 'a test', `${SERVER}/a.test.ts`, "b.replace(/\\/+$/, '');\n"),
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
];
