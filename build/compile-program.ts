import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Script } from 'node:vm';

/**
 * Runs a command and then the server, and writes the code that V8 has compiled by then: an executable that
 * has it starts sooner. Commands have a file of their own, since they do not need the server's code. The Node
 * that runs this must be the one in the executable, with the flags of `compiled-code.ts`: then, after
 * `number-functions.ts`, the same program always gives the same files.
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
const { setTimeout: setRealTimeout, setInterval: setRealInterval } = globalThis;
const NEVER_MS = 2 ** 31 - 1;
globalThis.setTimeout = Object.assign(
  (work: () => void, ms = 0) => setRealTimeout(work, ms > 0 ? NEVER_MS : 0),
  setRealTimeout,
);
globalThis.setInterval = Object.assign(
  (work: () => void) => setRealInterval(work, NEVER_MS),
  setRealInterval,
);

// It runs what the command line says when it is loaded.
process.argv.splice(1, Infinity, 'berth', '--help');
const module = { exports: {} as Program };
const files = new Proxy({}, { get: (_, path) => readFileSync(join(assets, String(path)), 'utf8') });
script.runInThisContext()(module.exports, createRequire(program), module, program, assets, files);
const launch = { program: 'berth', home: folder };
await module.exports.run(['license', 'list', '--help'], launch);
writeFileSync(forCommands, script.createCachedData());
const served = module.exports.run(['serve', '--port', '0', '--data', folder], launch);
await listening.promise;
await module.exports.run(['status', '--data', folder], launch);
writeFileSync(forServers, script.createCachedData());
Object.assign(globalThis, { setTimeout: setRealTimeout, setInterval: setRealInterval });
process.emit('SIGTERM');
await served;
