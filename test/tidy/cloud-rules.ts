import { type Import, resolveImport } from './imports.ts';
import type { SourceFile } from './source.ts';

export const CLOUD = 'packages/cloud/src/';
const PROTOCOL = 'packages/protocol/src/';
const SHELL = 'packages/shell/src/';
const WEB = 'packages/web/src/';

/** The rooms of the licensing cloud: whom each may import besides itself, protocol and shell, and why. */
const ROOMS: Record<string, { imports: string[]; why: string }> = {
  main: { imports: ['cli'], why: 'the entry only starts; the rest is in cli' },
  cli: { imports: ['http', 'store', 'core', 'clock'], why: 'it wires everything' },
  http: { imports: ['store', 'core', 'clock'], why: 'a route only translates; it knows no command line' },
  store: {
    imports: ['core'],
    why: 'the store is handed the time and whatever it writes; let the caller get it',
  },
  core: { imports: [], why: 'the core decides from values alone; hand them in' },
  clock: { imports: [], why: 'the clock is a fact of the machine and needs nothing' },
};

const FILE_ROOMS = new Set(['main', 'clock']);

/** The room of a file of the cloud, or undefined if it is in none. */
export function cloudRoomOf(path: string): string | undefined {
  const [first = '', ...rest] = path.slice(CLOUD.length).split('/');
  const name = first.replace(/\.ts$/, '');
  const isFile = rest.length === 0;
  return name in ROOMS && isFile === FILE_ROOMS.has(name) ? name : undefined;
}

function judgePackage(name: string, specifier: string): string | undefined {
  if (name !== 'core') return undefined;
  return (
    `The core of the cloud may not import '${specifier}', because it decides from values alone; ` +
    'do what needs a package or the machine in the store and hand the core the result.'
  );
}

function judgePath(name: string, specifier: string, path: string): string | undefined {
  if (path.startsWith(SHELL) && name !== 'core') return undefined;
  if (path.startsWith(WEB) && ['cli', 'http'].includes(name)) return undefined;
  if (path.startsWith(PROTOCOL) || /^packages\/cloud\/[^/]+$/.test(path)) return undefined;
  if (!path.startsWith(CLOUD)) {
    return `The cloud may not import '${specifier}', because it ships alone; move what it needs here.`;
  }
  const target = cloudRoomOf(path);
  if (target === undefined)
    return `'${specifier}' is in no room of the cloud; move it to one of its folders.`;
  const room = ROOMS[name];
  if (room === undefined || target === name || room.imports.includes(target)) return undefined;
  return `'${name}' of the cloud may not import '${specifier}' of '${target}', because ${room.why}.`;
}

export function judgeCloudImport(file: SourceFile, { specifier }: Import): string | undefined {
  const name = cloudRoomOf(file.path) ?? '';
  const path = resolveImport(file.path, specifier);
  return path === undefined ? judgePackage(name, specifier) : judgePath(name, specifier, path);
}
