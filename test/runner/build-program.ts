import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleProgram } from '../../build/bundle.ts';
import { SERVER_FLAGS } from '../../packages/server/src/cli/server-flags.ts';

export const BUILT = fileURLToPath(new URL('../../node_modules/.cache/berth-tests', import.meta.url));

/** The variables by which `test/support/program.ts` finds what was built. */
interface BuiltProgram extends Record<string, string> {
  readonly TEST_PROGRAM: string;
  readonly TEST_THREADS: string;
}

/**
 * Tests start Berth and its threads as bundles, as the executable does, in half the time of the sources. A
 * thread is a file here, so that its compiled code is kept, and other files are read when they are needed.
 */
export async function buildProgram(): Promise<BuiltProgram> {
  const { text, files, threads } = await bundleProgram();
  mkdirSync(BUILT, { recursive: true });
  const loaders = Object.entries(threads).map(([path, thread]) => {
    return [path, `require(${JSON.stringify(writeBuilt('thread', 'cjs', thread))})`] as const;
  });
  const threadFiles = Object.fromEntries(loaders);
  const rest = writeBuilt('files', 'json', JSON.stringify({ ...files, ...threadFiles }));
  const read = `JSON.parse(require('node:fs').readFileSync(${JSON.stringify(rest)}, 'utf8'))`;
  const get = `get(_, path) { return (this.files ??= ${read})[path]; }`;
  const carried = `const BUNDLED_FILES = new Proxy({}, { ${get} });\n`;
  return {
    TEST_PROGRAM: await compileProgram(writeBuilt('berth', 'cjs', carried + text)),
    TEST_THREADS: writeBuilt('threads', 'json', JSON.stringify(threadFiles)),
  };
}

/**
 * Node keeps the compiled code of a file, but only of what it needs to load it. Here all code is kept that a
 * server has run, which then starts in three quarters of the time. It depends on the flags of V8.
 */
async function compileProgram(program: string): Promise<string> {
  const compiled = `${program}.compiled`;
  const loader = writeBuilt(
    'loader',
    'cjs',
    `
const { existsSync, readFileSync, writeFileSync } = require('node:fs');
const { createRequire, wrap } = require('node:module');
const { constants, Script } = require('node:vm');
require('node:v8').setFlagsFromString(${JSON.stringify(SERVER_FLAGS)});
const [filename, compiled] = ${JSON.stringify([program, compiled])};
const script = new Script(wrap(readFileSync(filename, 'utf8')), {
  filename,
  cachedData: existsSync(compiled) ? readFileSync(compiled) : undefined,
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});
script.runInThisContext()(exports, createRequire(filename), module, filename, ${JSON.stringify(BUILT)});
const target = process.env.TEST_COMPILED;
if (target !== undefined) process.on('exit', () => writeFileSync(target, script.createCachedData()));
`,
  );
  if (!existsSync(compiled)) await runServer(loader, compiled);
  return loader;
}

/** Starts a server, stops it, and keeps its code. */
async function runServer(loader: string, compiled: string): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'berth-compile-'));
  const draft = `${compiled}.${process.pid}`;
  const env = { ...process.env, TEST_COMPILED: draft };
  const words = [loader, 'serve', '--port', '0', '--data', data];
  const server = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'ignore'] });
  server.stdout.on('data', (text: Buffer) => {
    if (text.includes('berth listening on ')) server.kill();
  });
  await once(server, 'close');
  rmSync(data, { recursive: true });
  // That a server does not start is for the tests to tell.
  if (existsSync(draft)) renameSync(draft, compiled);
}

/** Named after its content, and complete from the start: another run may use it at the same time. */
function writeBuilt(what: string, ending: string, text: string): string {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const file = join(BUILT, `${what}-${hash}.${ending}`);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, text);
  renameSync(draft, file);
  return file;
}
