import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundleProgram } from './bundle.ts';
import { compileProgram } from './compiled-code.ts';
import { collectLicenses } from './licenses.ts';
import { CACHE, findNode, OWN_PLATFORM } from './pinned-node.ts';
import { findSource, type Source } from './source.ts';
import { removeSignature } from './windows-signature.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const ASSETS = join(CACHE, 'assets');
/** The files that an executable carries, by name, and where they are. */
type Assets = Readonly<Record<string, string>>;

interface Prepared {
  readonly assets: Assets;
  /** The folders of the packages in it. */
  readonly packages: readonly string[];
  /** The license texts that must accompany an executable. */
  readonly licenses: string;
}

/** The program as a function, which gets what a CommonJS module has, and its files. */
const wrap = (text: string) =>
  `(function (exports, require, module, __filename, __dirname, BUNDLED_FILES) {${text}\n})`;

/** Bundles what all executables have in common. */
export async function prepareProgram(source: Pick<Source, 'origin' | 'isRelease'>): Promise<Prepared> {
  const { text, packages, files } = await bundleProgram(source);
  // The path of the main file becomes part of the executable, so it is the same everywhere.
  copyFileSync(new URL('loader.cjs', import.meta.url), join(makeFolder(CACHE), 'loader.cjs'));
  const assets = writeAssets({ ...files, 'program.js': wrap(text) });
  return { assets, packages, licenses: collectLicenses(ROOT, packages) };
}

/** Makes one executable from the program and a Node, in a file with the name and the end of the platform. */
export function buildExecutable(platform: string, assets: Assets, path: string): string {
  const isOwn = platform === OWN_PLATFORM;
  const isWindows = platform.startsWith('win-');
  const end = isWindows ? '.exe' : '';
  const node = join(CACHE, `node-${platform}${end}`);
  copyFileSync(findNode(platform), node);
  // Before the bundle is added: afterwards, strip would break the executable, and a signature be wrong.
  if (isOwn && platform.startsWith('linux-')) spawnSync('strip', [node], { stdio: 'inherit' });
  if (isWindows) writeFileSync(node, removeSignature(readFileSync(node)));
  const output = `${path}${end}`;
  const settings = `sea-${platform}.json`;
  writeFileSync(
    join(CACHE, settings),
    JSON.stringify({
      main: 'loader.cjs',
      mainFormat: 'commonjs',
      executable: node,
      output,
      // Compiled code belongs to one platform and one version of Node.
      assets: isOwn ? { ...assets, ...compileProgram(ASSETS) } : assets,
      disableExperimentalSEAWarning: true,
      // Otherwise NODE_OPTIONS could run other code in the executable.
      execArgvExtension: 'none',
    }),
  );
  execFileSync(process.execPath, ['--build-sea', settings], {
    cwd: CACHE,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  rmSync(node);
  return output;
}

function writeAssets(files: Readonly<Record<string, string>>): Assets {
  const write = (name: string, text: string) => {
    const file = join(ASSETS, name);
    makeFolder(dirname(file));
    writeFileSync(file, text);
    return [name, file];
  };
  return Object.fromEntries(Object.entries(files).map(([name, text]) => write(name, text)));
}

function makeFolder(path: string): string {
  mkdirSync(path, { recursive: true });
  return path;
}

// `npm run build`
if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { out: { type: 'string', default: join(ROOT, 'dist') } },
    allowPositionals: true,
  });
  const folder = makeFolder(resolve(values.out));
  const { assets, licenses } = await prepareProgram(findSource());
  writeFileSync(join(folder, 'LICENSES.txt'), licenses);
  for (const platform of positionals.length === 0 ? [OWN_PLATFORM] : positionals) {
    const name = platform === OWN_PLATFORM ? 'berth' : `berth-${platform}`;
    const file = buildExecutable(platform, assets, join(folder, name));
    process.stdout.write(`${file} (${Math.round(statSync(file).size / 1e6)} MB)\n`);
  }
}
