import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { Script } from 'node:vm';

/**
 * Makes compiled code independent of the order in which functions were compiled. V8 numbers them in that
 * order, which differs when a busy machine delays an answer. A process that reads the code numbers them
 * again, in the order of the file; so here it is read and written. Each file needs a process of its own,
 * with the flags of `compiled-code.ts`.
 */
const [program = '', file = ''] = process.argv.slice(2);
const text = readFileSync(program, 'utf8');

/** V8 refuses code of a process with other flags. Neither our flags nor the server's change the code. */
const FLAGS_AT = 12;
const READ_FLAGS = `new vm.Script('').createCachedData().readUInt32LE(${FLAGS_AT})`;
const IS_REFUSED =
  'const [program, compiled] = process.argv.slice(1).map((file) => fs.readFileSync(file));' +
  'new vm.Script(String(program), { cachedData: compiled }).cachedDataRejected';

function askPlainNode(code: string, ...files: string[]): string {
  return execFileSync(process.execPath, ['-p', code, ...files], { encoding: 'utf8' }).trim();
}

function rewrite(compiled: Buffer): Buffer {
  compiled.writeUInt32LE(new Script('').createCachedData().readUInt32LE(FLAGS_AT), FLAGS_AT);
  const script = new Script(text, { filename: 'berth.cjs', cachedData: compiled });
  if (script.cachedDataRejected) throw new Error(`V8 refuses to read ${file}.`);
  const rewritten = script.createCachedData();
  rewritten.writeUInt32LE(Number(askPlainNode(READ_FLAGS)), FLAGS_AT);
  return rewritten;
}

writeFileSync(file, rewrite(readFileSync(file)));
if (askPlainNode(IS_REFUSED, program, file) !== 'false') throw new Error(`V8 refuses ${file}.`);
