import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleProgram } from '../../build/bundle.ts';

export const BUILT = fileURLToPath(new URL('../../node_modules/.cache/berth-tests', import.meta.url));

/** The variables by which `test/support/program.ts` finds what was built. */
interface BuiltProgram extends Record<string, string> {
  readonly TEST_PROGRAM: string;
  readonly TEST_FILES: string;
}

/**
 * Tests start Berth and its threads as bundles, as the executable does, in half the time of the sources. A
 * thread is a file here, so that its compiled code is kept, and other files are read when they are needed.
 */
export async function buildProgram(): Promise<BuiltProgram> {
  const { text, files, threads } = await bundleProgram();
  mkdirSync(BUILT, { recursive: true });
  const loader = JSON.stringify(writeBuilt('loader', 'cjs', LOADER));
  const load = (file: string) => `require(${loader}).load(${JSON.stringify(file)});`;
  const loaders = Object.entries(threads).map(([path, thread]) => {
    return [path, load(writeBuilt('thread', 'cjs', thread))] as const;
  });
  const rest = writeBuilt('files', 'json', JSON.stringify({ ...files, ...Object.fromEntries(loaders) }));
  const read = `JSON.parse(require('node:fs').readFileSync(${JSON.stringify(rest)}, 'utf8'))`;
  const get = `get(_, path) { return (this.files ??= ${read})[path]; }`;
  const carried = `const BUNDLED_FILES = new Proxy({}, { ${get} });\n`;
  const berth = writeBuilt('berth', 'cjs', carried + text);
  const program = writeBuilt('program', 'cjs', load(berth));
  if (!existsSync(`${berth}.compiled`)) await runServer(program);
  return { TEST_PROGRAM: program, TEST_FILES: rest };
}

/**
 * Node keeps the compiled code of a file, but only of what it needs to load it. Here all code is kept that a
 * server has run, which then starts in three quarters of the time.
 */
const LOADER = `
const { existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { createRequire, wrap } = require('node:module');
const { dirname } = require('node:path');
const { constants, Script } = require('node:vm');
const { threadId } = require('node:worker_threads');
exports.load = (filename) => {
  const compiled = filename + '.compiled';
  const script = new Script(wrap(readFileSync(filename, 'latin1')), {
    filename,
    cachedData: existsSync(compiled) ? readFileSync(compiled) : undefined,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(filename), module, filename, dirname(filename));
  if (process.env.TEST_COMPILE !== undefined) {
    process.on('exit', () => {
      const draft = [compiled, process.pid, threadId].join('.');
      writeFileSync(draft, script.createCachedData());
      renameSync(draft, compiled);
    });
  }
};
`;

/** Starts a server and stops it; that it does not start is for the tests to tell. */
async function runServer(program: string): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'berth-compile-'));
  const env = { ...process.env, TEST_COMPILE: 'yes' };
  const words = [program, 'serve', '--port', '0', '--data', data];
  const server = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'ignore'] });
  server.stdout.on('data', (text: Buffer) => {
    if (text.includes('berth listening on ')) server.kill();
  });
  await once(server, 'close');
  rmSync(data, { recursive: true });
}

/** Named after its content, and complete from the start: another run may use it at the same time. */
export function writeBuilt(what: string, ending: string, text: string): string {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const file = join(BUILT, `${what}-${hash}.${ending}`);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, text);
  renameSync(draft, file);
  return file;
}
