import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { bundleProgram } from './bundle.ts';
import { collectLicenses } from './licenses.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CACHE = join(ROOT, 'node_modules', '.cache', 'berth-build');
const ASSETS = join(CACHE, 'assets');
/** It takes a second or two. */
const COMPILE_TIMEOUT_MS = 60_000;
const OWN_PLATFORM = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;

/** The packages with the pinned Node by platform, such as `linux-x64`. */
const NODES = new Map(
  Object.entries(manifest.optionalDependencies).map(([name, version]) => [
    name.replace(/^node-(bin-)?/, ''),
    { name, version },
  ]),
);

/** The files that an executable carries, by name. */
type Assets = Readonly<Record<string, string>>;

/** The program as a function, which gets what a CommonJS module has, and its files. */
const wrap = (text: string) =>
  `(function (exports, require, module, __filename, __dirname, BUNDLED_FILES) {${text}\n})`;

/** Makes one executable from the bundle and a Node, and returns its path. */
function buildExecutable(platform: string, assets: Assets, folder: string): string {
  const isOwn = platform === OWN_PLATFORM;
  const end = platform.startsWith('win-') ? '.exe' : '';
  const node = join(CACHE, `node-${platform}${end}`);
  copyFileSync(findNode(platform), node);
  // Before the bundle is added: afterwards, strip would break the executable.
  if (isOwn && platform.startsWith('linux-')) spawnSync('strip', [node], { stdio: 'inherit' });
  const output = join(folder, `berth${isOwn ? '' : `-${platform}`}${end}`);
  const settings = join(CACHE, `sea-${platform}.json`);
  writeFileSync(
    settings,
    JSON.stringify({
      main: fileURLToPath(new URL('loader.cjs', import.meta.url)),
      mainFormat: 'commonjs',
      executable: node,
      output,
      // Compiled code belongs to one platform and one version of Node.
      assets: isOwn ? { ...assets, ...compileProgram() } : assets,
      disableExperimentalSEAWarning: true,
      // Otherwise NODE_OPTIONS could run other code in the executable.
      execArgvExtension: 'none',
    }),
  );
  execFileSync(process.execPath, ['--build-sea', settings], { stdio: ['ignore', 'ignore', 'inherit'] });
  return output;
}

/** Runs the program to compile it, and returns the files with the compiled code. */
function compileProgram(): Assets {
  const [command, server] = [join(CACHE, 'command.compiled'), join(CACHE, 'server.compiled')];
  const script = fileURLToPath(new URL('compile-program.ts', import.meta.url));
  // No settings of the builder's, and none of Node that would make it compile differently.
  const given = Object.entries(process.env).filter(([name]) => !/^(BERTH|NODE)_/.test(name));
  const env = Object.fromEntries(given);
  const options = { env, cwd: ASSETS, stdio: 'pipe', timeout: COMPILE_TIMEOUT_MS } as const;
  execFileSync(findNode(OWN_PLATFORM), [script, ASSETS, command, server], options);
  return { 'command.compiled': command, 'server.compiled': server };
}

/** The installed Node; that of another platform comes from the registry. */
function findNode(platform: string): string {
  const found = NODES.get(platform);
  if (found === undefined) {
    throw new Error(`There is no Node for "${platform}". Choose among: ${[...NODES.keys()].join(', ')}.`);
  }
  const file = platform.startsWith('win-') ? 'node.exe' : 'node';
  const installed = join(ROOT, 'node_modules', found.name, 'bin', file);
  if (existsSync(installed)) return installed;
  const folder = join(CACHE, `${found.name}-${found.version}`);
  const downloaded = join(folder, 'package', 'bin', file);
  if (existsSync(downloaded)) return downloaded;
  mkdirSync(folder, { recursive: true });
  const npm = ['pack', `${found.name}@${found.version}`, '--silent'];
  const archive = execFileSync('npm', npm, { cwd: folder, encoding: 'utf8' }).trim();
  execFileSync('tar', ['-xzf', archive], { cwd: folder });
  return downloaded;
}

function writeAssets(files: Readonly<Record<string, string>>): Assets {
  const write = (name: string, text: string) => {
    const file = join(ASSETS, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return [name, file];
  };
  return Object.fromEntries(Object.entries(files).map(([name, text]) => write(name, text)));
}

/** Empty for a release, and where there is no repository. */
function findCommit(): string {
  const git = (...words: string[]) => spawnSync('git', words, { cwd: ROOT, encoding: 'utf8' }).stdout ?? '';
  return git('tag', '--points-at', 'HEAD') === '' ? git('rev-parse', '--short', 'HEAD').trim() : '';
}

const { values, positionals } = parseArgs({
  options: { out: { type: 'string', default: join(ROOT, 'dist') } },
  allowPositionals: true,
});
const folder = resolve(values.out);
mkdirSync(folder, { recursive: true });
mkdirSync(CACHE, { recursive: true });
const { text, packages, files } = await bundleProgram(findCommit());
const assets = writeAssets({ ...files, 'program.js': wrap(text) });
writeFileSync(join(folder, 'LICENSES.txt'), collectLicenses(ROOT, packages));
for (const platform of positionals.length === 0 ? [OWN_PLATFORM] : positionals) {
  const file = buildExecutable(platform, assets, folder);
  const megabytes = Math.round(statSync(file).size / 1e6);
  process.stdout.write(`${file} (${megabytes} MB)\n`);
}
