import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleProgram } from '../../build/bundle.ts';

/**
 * Tests start Berth and its threads as bundles, as the executable does, in half the time of the sources. A
 * thread is a file here, so that its compiled code is kept, and other files are read when they are needed.
 */
export async function buildProgram(folder: string): Promise<void> {
  if (process.env.TEST_PROGRAM !== undefined) return;
  const { text, files, threads } = await bundleProgram();
  mkdirSync(folder, { recursive: true });
  const loaders = Object.entries(threads).map(([path, thread]) => {
    return [path, `require(${JSON.stringify(writeBuilt(folder, 'thread', 'cjs', thread))})`] as const;
  });
  const threadFiles = Object.fromEntries(loaders);
  const rest = writeBuilt(folder, 'files', 'json', JSON.stringify({ ...files, ...threadFiles }));
  const read = `JSON.parse(require('node:fs').readFileSync(${JSON.stringify(rest)}, 'utf8'))`;
  const get = `get(_, path) { return (this.files ??= ${read})[path]; }`;
  const carried = `const BUNDLED_FILES = new Proxy({}, { ${get} });\n`;
  process.env.TEST_PROGRAM = writeBuilt(folder, 'berth', 'cjs', carried + text);
  process.env.TEST_THREADS = writeBuilt(folder, 'threads', 'json', JSON.stringify(threadFiles));
}

/** Named after its content: another run may use the folder at the same time. */
function writeBuilt(folder: string, what: string, ending: string, text: string): string {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const file = join(folder, `${what}-${hash}.${ending}`);
  writeFileSync(file, text);
  return file;
}
