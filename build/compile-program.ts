import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Script } from 'node:vm';

/**
 * Runs the server and what people call most, and writes the code that V8 has compiled by then: an executable
 * that has it starts sooner. The Node that runs this must be the one in the executable.
 */
const [assets = '', output = ''] = process.argv.slice(2);
const program = join(assets, 'program.js');
const folder = mkdtempSync(join(tmpdir(), 'berth-build-'));
const server = ['serve', '--port', '0', '--data', folder];
const COMMANDS = [['--help'], ['status', '--data', folder], ['license', 'list', '--data', folder]];

interface Program {
  run(words: readonly string[], launch: { program: string; home: string }): Promise<void>;
}

const script = new Script(readFileSync(program, 'utf8'), { filename: 'berth.cjs' });
const ready = Promise.withResolvers<void>();
process.stdout.write = (text) => {
  if (String(text).startsWith('berth listening')) ready.resolve();
  return true;
};
process.argv.splice(1, Infinity, 'berth', ...server);
const module = { exports: {} as Program };
const files = new Proxy({}, { get: (_, path) => readFileSync(join(assets, String(path)), 'utf8') });
script.runInThisContext()(module.exports, createRequire(program), module, program, assets, files);
await ready.promise;
for (const words of COMMANDS) await module.exports.run(words, { program: 'berth', home: folder });
writeFileSync(output, script.createCachedData());
process.once('exit', () => rmSync(folder, { recursive: true }));
process.emit('SIGTERM');
