import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Script } from 'node:vm';

/**
 * Runs a command and then the server, and writes the code that V8 has compiled by then: an executable that
 * has it starts sooner. Commands have a file of their own, since they do not need the server's code. The Node
 * that runs this must be the one in the executable, with the flags of `executable.ts`: then the same program
 * always gives the same files.
 */
const [assets = '', forCommands = '', forServers = ''] = process.argv.slice(2);
const program = join(assets, 'program.js');
const folder = mkdtempSync(join(tmpdir(), 'berth-build-'));
process.once('exit', () => rmSync(folder, { recursive: true }));

interface Program {
  run(words: readonly string[], launch: { program: string; home: string }): Promise<void>;
}

const script = new Script(readFileSync(program, 'utf8'), { filename: 'berth.cjs' });
const listening = Promise.withResolvers<void>();
process.stdout.write = (text) => {
  if (String(text).startsWith('berth listening')) listening.resolve();
  return true;
};
/** Whether a timer fires before the code is written would depend on the load of this machine. */
const { setTimeout: setRealTimeout } = globalThis;
const NEVER_MS = 2 ** 31 - 1;
globalThis.setTimeout = Object.assign(
  (work: () => void, ms = 0) => setRealTimeout(work, ms > 0 ? NEVER_MS : 0),
  setRealTimeout,
);

/** V8 refuses code of a process with other flags. Neither our flags nor the server's change the code. */
const FLAGS_AT = 12;
const plainFlags = Number(askPlainNode(`new vm.Script('').createCachedData().readUInt32LE(${FLAGS_AT})`));
const IS_REFUSED =
  'const [program, compiled] = process.argv.slice(1).map((file) => fs.readFileSync(file));' +
  'new vm.Script(String(program), { cachedData: compiled }).cachedDataRejected';

function askPlainNode(code: string, ...files: string[]): string {
  return execFileSync(process.execPath, ['-p', code, ...files], { encoding: 'utf8' }).trim();
}

function writeCompiled(file: string): void {
  const compiled = script.createCachedData();
  compiled.writeUInt32LE(plainFlags, FLAGS_AT);
  writeFileSync(file, compiled);
  if (askPlainNode(IS_REFUSED, program, file) !== 'false') throw new Error(`V8 refuses ${file}.`);
}

// It runs what the command line says when it is loaded.
process.argv.splice(1, Infinity, 'berth', '--help');
const module = { exports: {} as Program };
const files = new Proxy({}, { get: (_, path) => readFileSync(join(assets, String(path)), 'utf8') });
script.runInThisContext()(module.exports, createRequire(program), module, program, assets, files);
const launch = { program: 'berth', home: folder };
await module.exports.run(['license', 'list', '--help'], launch);
writeCompiled(forCommands);
const served = module.exports.run(['serve', '--port', '0', '--data', folder], launch);
await listening.promise;
await module.exports.run(['status', '--data', folder], launch);
writeCompiled(forServers);
globalThis.setTimeout = setRealTimeout;
process.emit('SIGTERM');
await served;
