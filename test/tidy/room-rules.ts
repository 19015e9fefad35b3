import { CLOUD, cloudRoomOf, judgeCloudImport } from './cloud-rules.ts';
import { type Import, listImports, resolveImport } from './imports.ts';
import { type Finding, productFiles, type SourceFile } from './source.ts';

const SERVER = 'packages/server/src/';
const PROTOCOL = 'packages/protocol/src/';
const SHELL = 'packages/shell/src/';
const WEB = 'packages/web/src/';
const HTTP_ROOMS = ['compose', 'http'];
const ADMIN = 'packages/admin/src/';
const CLIENT = 'packages/client/src/';
const CLIENT_ON_NODE = /^packages\/client\/src\/(?:node\/|main\.ts$)/;

interface Room {
  /** The rooms it may import, besides itself. */
  imports: string[];
  why: string;
}

const ROUTE_IMPORTS = ['services', 'core', 'telemetry', 'config', 'protocol'];
const STORE_IMPORTS = ['store', 'store/engine', 'core', 'protocol', 'secrets'];

const ROOMS: Record<string, Room> = {
  main: { imports: ['compose', 'cli', 'config'], why: 'the entry only starts; wire parts in compose.ts' },
  compose: { imports: ['*'], why: 'it wires everything' },
  config: {
    imports: ['protocol', 'core'],
    why: 'everyone reads the config; hand it what it needs as a value',
  },
  http: { imports: ROUTE_IMPORTS, why: 'a route only translates; call a service, and let it do the work' },
  cli: { imports: ROUTE_IMPORTS, why: 'a command only translates; call a service, and let it do the work' },
  background: {
    imports: ['services', 'telemetry', 'core'],
    why: 'a background job only decides when; call a service, and let it do the work',
  },
  services: {
    imports: [
      'store',
      'cloud',
      'receivers',
      'providers',
      'cloud/read-file',
      'secrets',
      'core',
      'telemetry',
      'config',
      'protocol',
    ],
    why: 'a service speaks to ports only; take the port as an argument and let compose.ts fill it',
  },
  store: { imports: ['core', 'protocol'], why: 'the port must not know who calls it nor what is behind it' },
  'store/engine': {
    imports: ['store', 'core', 'protocol', 'secrets'],
    why: 'both stores stand on it; it must not know what is below its statements',
  },
  'store/sqlite': {
    imports: STORE_IMPORTS,
    why: 'a store knows its port and nothing above; move shared code there',
  },
  'store/postgres': {
    imports: STORE_IMPORTS,
    why: 'a store knows its port and nothing above; move shared code there',
  },
  cloud: { imports: ['core', 'protocol'], why: 'the port must not know who calls it nor what is behind it' },
  'cloud/vendor-license': {
    imports: ['cloud', 'core', 'protocol'],
    why: 'it only translates what a vendor says',
  },
  'cloud/http-cloud': {
    imports: ['cloud', 'cloud/vendor-license', 'core', 'protocol'],
    why: 'it implements the port cloud/cloud.ts only',
  },
  receivers: {
    imports: ['core', 'protocol'],
    why: 'the port must not know who calls it nor what is behind it',
  },
  'receivers/adapters': {
    imports: ['receivers', 'core', 'config', 'protocol'],
    why: 'it implements the port receivers/event-receiver.ts only',
  },
  providers: {
    imports: ['core', 'protocol'],
    why: 'the port must not know who calls it nor what is behind it',
  },
  'providers/adapters': {
    imports: ['providers', 'core', 'protocol'],
    why: 'it implements the port providers/sign-in-provider.ts only',
  },
  'cloud/read-file': {
    imports: ['cloud', 'cloud/vendor-license', 'core', 'protocol'],
    why: 'offline files are made from values; let a service fetch them',
  },
  secrets: {
    imports: ['core', 'protocol'],
    why: 'secrets are kept apart from all else; let a service call it',
  },
  telemetry: {
    imports: ['config', 'protocol', 'core'],
    why: 'everyone reports to it; it must not call back',
  },
  core: { imports: ['protocol'], why: 'the core decides from values alone; do the rest in a service' },
};

const FOLDER_ROOMS = new Set([
  'compose',
  'http',
  'cli',
  'background',
  'services',
  'secrets',
  'telemetry',
  'core',
]);
const FILE_ROOMS = new Set(['main', 'config']);

const CLOUD_ROOMS = new Map([
  ['cloud.ts', 'cloud'],
  ['vendor-license.ts', 'cloud/vendor-license'],
  ['read-file.ts', 'cloud/read-file'],
]);

const STORE_ROOMS = new Set(['engine', 'sqlite', 'postgres']);

function storeRoom(rest: string[]): string | undefined {
  if (rest.length === 1) return 'store';
  return STORE_ROOMS.has(rest[0] ?? '') ? `store/${rest[0]}` : undefined;
}

function roomOf(path: string): string | undefined {
  if (path.startsWith(PROTOCOL)) return 'protocol';
  if (path.startsWith(CLOUD)) return cloudRoomOf(path);
  if (!path.startsWith(SERVER)) return undefined;
  const [first = '', ...rest] = path.slice(SERVER.length).split('/');
  const name = first.replace(/\.ts$/, '').replace(/^(?:(?:event-|auth-)?settings?|parse-yaml)$/, 'config');
  if (rest.length === 0) return FILE_ROOMS.has(name) ? name : undefined;
  if (first === 'store') return storeRoom(rest);
  if (first === 'receivers') return rest[0] === 'event-receiver.ts' ? 'receivers' : 'receivers/adapters';
  if (first === 'providers') return rest[0] === 'sign-in-provider.ts' ? 'providers' : 'providers/adapters';
  if (first === 'cloud') return CLOUD_ROOMS.get(rest.join('/')) ?? 'cloud/http-cloud';
  return FOLDER_ROOMS.has(first) ? first : undefined;
}

function judgePackage(name: string, specifier: string): string | undefined {
  if (name !== 'core') return undefined;
  return (
    `The core may not import '${specifier}', because it decides from values alone; ` +
    'do what needs a package or the machine in a service and hand the core the result.'
  );
}

function judgeServerPath(name: string, room: Room, specifier: string, path: string): string | undefined {
  if (path.startsWith(SHELL) && name !== 'core') return undefined;
  if (path.startsWith(WEB) && HTTP_ROOMS.includes(name)) return undefined;
  if (!path.startsWith(SERVER) && !path.startsWith(PROTOCOL)) {
    if (/^packages\/server\/[^/]+$/.test(path)) return undefined;
    return `The server may not import '${specifier}', because it ships alone; move what it needs here.`;
  }
  const target = roomOf(path);
  if (target === undefined)
    return `'${specifier}' is in no room of the server; move it to one of its folders.`;
  if (target === name || room.imports.includes('*') || room.imports.includes(target)) return undefined;
  return `'${name}' may not import '${specifier}' of '${target}', because ${room.why}.`;
}

function judgeServerImport(file: SourceFile, name: string, { specifier }: Import): string | undefined {
  const room = ROOMS[name];
  if (room === undefined) return undefined;
  const path = resolveImport(file.path, specifier);
  return path === undefined ? judgePackage(name, specifier) : judgeServerPath(name, room, specifier, path);
}

function judgeProtocolImport(file: SourceFile, { specifier }: Import): string | undefined {
  const path = resolveImport(file.path, specifier);
  if (path?.startsWith(PROTOCOL) || /^(?:zod(?:\/|$)|uqr$|node:crypto$)/.test(specifier)) return undefined;
  return (
    `The protocol may not import '${specifier}', because every client loads it wherever it runs; ` +
    'import only zod, uqr, node:crypto and its own files, and move what needs files or a terminal to shell.'
  );
}

/** `shell` and `web` know neither program. */
function judgeSharedImport(file: SourceFile, { specifier }: Import): string | undefined {
  const path = resolveImport(file.path, specifier);
  const isOwn = path?.split('/')[1] === file.path.split('/')[1];
  if (isOwn || path?.startsWith(PROTOCOL) || /^(?:node:|zod$)/.test(specifier)) return undefined;
  return `Shared code may not import '${specifier}', because both programs stand on it; pass it in.`;
}

function judgeAdminImport(file: SourceFile, { specifier }: Import): string | undefined {
  const path = resolveImport(file.path, specifier);
  if (path?.startsWith(ADMIN) || path?.startsWith(PROTOCOL) || /^preact(?:\/|$)/.test(specifier))
    return undefined;
  return (
    `The administrator's page may not import '${specifier}', because it runs in a browser; ` +
    'ask the API, and import only preact, the protocol and its own files.'
  );
}

/** Applications load the client wherever they run, and nothing else for it. */
function judgeClientImport(file: SourceFile, { specifier }: Import): string | undefined {
  const path = resolveImport(file.path, specifier);
  const isOnNode = CLIENT_ON_NODE.test(file.path);
  if (path === undefined && isOnNode && specifier.startsWith('node:')) return undefined;
  if (path?.startsWith(CLIENT) && (isOnNode || !CLIENT_ON_NODE.test(path))) return undefined;
  return (
    `The client may not import '${specifier}', because it runs in browsers, too, and has no dependencies; ` +
    'import only its own files, and what Node brings within node/.'
  );
}

function findRoomless(files: SourceFile[]): Finding[] {
  return files
    .filter((file) => roomOf(file.path) === undefined)
    .map((file) => ({
      path: file.path,
      line: 1,
      rule: 'imports',
      message: 'The file is in no room, so nothing says what it may import; move it to one of the folders.',
    }));
}

function findBadImports(file: SourceFile, judge: (one: Import) => string | undefined): Finding[] {
  return listImports(file).flatMap((one) => {
    const message = judge(one);
    return message === undefined ? [] : [{ path: file.path, line: one.line, rule: 'imports', message }];
  });
}

/** Who may import whom; tests are exempt. */
export function findForbiddenImports(files: SourceFile[]): Finding[] {
  const server = productFiles(files, SERVER);
  const cloud = productFiles(files, CLOUD);
  return [
    ...findRoomless([...server, ...cloud]),
    ...server.flatMap((file) =>
      findBadImports(file, (one) => judgeServerImport(file, roomOf(file.path) ?? '', one)),
    ),
    ...cloud.flatMap((file) => findBadImports(file, (one) => judgeCloudImport(file, one))),
    ...productFiles(files, ADMIN).flatMap((file) =>
      findBadImports(file, (one) => judgeAdminImport(file, one)),
    ),
    ...productFiles(files, CLIENT).flatMap((file) =>
      findBadImports(file, (one) => judgeClientImport(file, one)),
    ),
    ...productFiles(files, PROTOCOL).flatMap((file) =>
      findBadImports(file, (one) => judgeProtocolImport(file, one)),
    ),
    ...[...productFiles(files, SHELL), ...productFiles(files, WEB)].flatMap((file) =>
      findBadImports(file, (one) => judgeSharedImport(file, one)),
    ),
  ];
}
