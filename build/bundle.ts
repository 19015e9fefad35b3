import { globSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin, stop } from 'esbuild';
import { listPackages } from './locked-package.ts';
import { makePage } from './page.ts';
import type { Source } from './source.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PACKAGES = join(ROOT, 'packages');
const THREADS = [
  'server/src/store/sqlite/threads/writer-thread.ts',
  'server/src/store/sqlite/threads/reader-thread.ts',
  'server/src/compose/backup-thread.ts',
  'server/src/compose/task-thread.ts',
];

type Files = Readonly<Record<string, string>>;

interface Bundle {
  readonly text: string;
  /** The folders of the packages in it. */
  readonly packages: readonly string[];
}

interface Program extends Bundle {
  /**
   * The threads, the page and the migrations, by their path below `packages/`: see `findBundledFile`. Not in
   * the text, which every command would then load with them.
   */
  readonly files: Files;
  readonly threads: Files;
}

/**
 * Both programs with all the code they need as the text of one CommonJS file, which starts twice as fast.
 * Between releases the commit becomes part of their version.
 */
export async function bundleProgram(source?: Pick<Source, 'origin' | 'isRelease'>): Promise<Program> {
  const sql = globSync('*/src/**/migrations/*.sql', { cwd: PACKAGES });
  const texts = Object.fromEntries(sql.map((path) => [path, readFileSync(join(PACKAGES, path), 'utf8')]));
  const bundled = THREADS.map(
    async (path) => [path, (await bundle(join('packages', path), { BUNDLED_FILES: texts })).text] as const,
  );
  const threads = Object.fromEntries(await Promise.all(bundled));
  const { packages: inPage, digest: _, ...page } = await makePage();
  const files = { ...texts, ...threads, 'admin/dist/page.json': JSON.stringify(page) };
  const { text, packages } = await bundle(
    'bin/main.ts',
    { BUILD_ORIGIN: source?.origin ?? null },
    source?.origin && !source.isRelease ? [carryCommit(source.origin.commit)] : [],
  );
  await stop();
  return { text, packages: [...new Set([...packages, ...inPage])].sort(), files, threads };
}

/** `facts`: constants of the bundle, such as the files that a thread carries itself. */
async function bundle(
  entry: string,
  facts: Readonly<Record<string, unknown>>,
  plugins: readonly Plugin[] = [],
): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'cjs',
    target: 'node26',
    define: {
      ...Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, JSON.stringify(value)])),
      'import.meta.url': 'BUNDLE_URL',
      'import.meta.main': 'true',
    },
    banner: { js: "const BUNDLE_URL = require('node:url').pathToFileURL(__filename).href;" },
    plugins: [...plugins, bundleRequired, loadLater, onlyEnglish],
    logLevel: 'warning',
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`esbuild made nothing of ${entry}.`);
  return { text: escapeAll(output.text), packages: listPackages(Object.keys(metafile.inputs)) };
}

/** With other characters than ASCII, of which esbuild leaves some, a text would take twice the memory. */
function escapeAll(text: string): string {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const require = createRequire(import.meta.url);

/** Built-in modules that take milliseconds to load, and that most commands do without. */
const SLOW_MODULES = /^node:(child_process|crypto|fs\/promises|http|https|tls|zlib)$/;

/** Loads a slow module when something in it is first used, not when a module that may use it is loaded. */
const loadLater: Plugin = {
  name: 'load-later',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: SLOW_MODULES }, ({ path, namespace }) =>
      namespace === 'later' ? { path, external: true } : { path, namespace: 'later' },
    );
    onLoad({ filter: SLOW_MODULES, namespace: 'later' }, ({ path }) => {
      const names = Object.keys(require(path));
      const getters = names.map((name) => `get ${name}() { return load().${name}; }`);
      const load = `let loaded; const load = () => loaded ??= require(${JSON.stringify(path)});`;
      return { contents: `${load}\nmodule.exports = { ${getters.join(', ')} };` };
    });
  },
};

/** Adds the commit to the version of each program: `0.1.0+1a2b3c4`. */
function carryCommit(commit: string): Plugin {
  return {
    name: 'carry-commit',
    setup({ onLoad }) {
      onLoad({ filter: /packages\/(server|cloud)\/package\.json$/ }, async ({ path }) => {
        const { version } = JSON.parse(await readFile(path, 'utf8'));
        return {
          contents: JSON.stringify({ version: `${version}+${commit}` }),
          loader: 'json',
        };
      });
    },
  };
}

/** Our messages are our own: those of zod in 50 languages would only be loaded. */
const onlyEnglish: Plugin = {
  name: 'only-english',
  setup({ onLoad }) {
    onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
      loader: 'js',
    }));
  },
};

/** A module that requires a package only when it is needed would look for it in node_modules. */
const bundleRequired: Plugin = {
  name: 'bundle-required',
  setup({ onLoad }) {
    onLoad({ filter: /packages\/\w+\/src\/.*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      return { contents: text.replace(/^const require = createRequire\(.*\);$/m, ''), loader: 'ts' };
    });
  },
};
