import { accept, CLOUD, type Example, type Rejected, reject, SERVER } from './example.ts';

const CLIENT = 'packages/client/src';

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

const rejectedServerImports: Rejected[] = [
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
  rejectImport('a service which imports the HTTP stack', 'services/a.ts', '@berth/web/reply'),
  rejectImport('a server which imports the client', 'compose/compose.ts', '@berth/client/client'),
  rejectImport('a client which imports the protocol', 'a.ts', '@berth/protocol/errors', CLIENT),
  rejectImport('a client which needs Node', 'lending/a.ts', 'node:fs', CLIENT),
  rejectImport('a client which needs its files for Node', 'lending/a.ts', '../node/b.ts', CLIENT),
  rejectImport('a server which imports a test', 'compose/compose.ts', '../../../../test/support/reporter.ts'),
  rejectImport('an import of a folder that is no room', 'compose/compose.ts', '../misc/thing.ts'),
  reject('imports', 'a file in no room', `${SERVER}/misc/thing.ts`, 'export const x = 1;\n'),
  reject('imports', 'a dynamic import', `${SERVER}/http/a.ts`, "\nawait import('../store/store.ts');\n", 2),
  reject('imports', 'a re-export', `${SERVER}/http/a.ts`, "export * from '../store/store.ts';\n"),
  reject('imports', 'a bare import', `${SERVER}/core/a.ts`, "import 'node:fs';\n"),
  reject('imports', 'an HTTP stack of the server', 'packages/web/src/a.ts', "import '@berth/server/a';\n"),
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

const rejectedAdminImports: Rejected[] = ['node:fs', '@berth/server/config', 'zod'].map((specifier) =>
  reject('imports', 'a page that is no page', 'packages/admin/src/a.tsx', `import '${specifier}';\n`),
);

export const rejectedImports: Rejected[] = [
  ...rejectedServerImports,
  ...rejectedCloudImports,
  ...rejectedAdminImports,
];

export const acceptedImports: Example[] = [
  accept(
    'imports',
    'the page',
    'packages/admin/src/a.tsx',
    "import 'preact/hooks';\nimport './b.css';\nimport '@berth/protocol/errors';\n",
  ),
  acceptImport(
    'a route',
    'http/a.ts',
    '../services/b.ts',
    '../config.ts',
    './c.ts',
    '@berth/web/reply',
    'node:http',
  ),
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
  accept('imports', 'a test', 'packages/server/test/a.test.ts', "import '../src/store/sqlite/a.ts';\n"),
  accept('imports', 'a client on Node', `${CLIENT}/node/a.ts`, "import 'node:fs';\nimport '../b.ts';\n"),
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
    "import '@berth/web/reply';\nimport '../store/b.ts';\nimport '../clock.ts';\n",
  ),
  accept('imports', 'a command of the cloud', `${CLOUD}/cli/a.ts`, "import '../../package.json';\n"),
  accept('imports', 'an import in a string', `${SERVER}/core/a.ts`, 'f("import \'zod\'");\n'),
];
