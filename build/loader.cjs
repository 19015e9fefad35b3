// The main file of the executable. It runs the program with the code that V8 compiled while it was built, which
// comes from the executable itself and never from the disk: V8 does not notice altered code.
const { getAsset, getAssetKeys, getRawAsset } = require('node:sea');
const { Script } = require('node:vm');

const compiled = process.argv[2] === 'serve' ? 'server.compiled' : 'command.compiled';
const cachedData = getAssetKeys().includes(compiled) ? new Uint8Array(getRawAsset(compiled)) : undefined;
const program = new Script(getAsset('program.js', 'utf8'), { filename: 'berth.cjs', cachedData });
// Each file is read when it is needed: in the program, every command would load all of them.
const files = new Proxy({}, { get: (_, path) => getAsset(path, 'utf8') });
program.runInThisContext()(exports, require, module, __filename, __dirname, files);
