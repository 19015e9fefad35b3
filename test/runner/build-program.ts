import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleProgram } from '../../build/bundle.ts';

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
    TEST_PROGRAM: writeBuilt('berth', 'cjs', carried + text),
    TEST_THREADS: writeBuilt('threads', 'json', JSON.stringify(threadFiles)),
  };
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
