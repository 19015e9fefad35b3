import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BuiltPage } from '../packages/shell/src/files/built-page.ts';
import { listPackages } from './locked-package.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FILE = join(ROOT, 'packages', 'admin', 'dist', 'page.json');

/** Everything that the page is made of. */
const SOURCES = [
  'packages/admin/src/**/*',
  'packages/protocol/src/**/*.ts',
  'build/{page,locked-package}.ts',
];

interface Built extends BuiltPage {
  /** Of the sources. */
  readonly digest: string;
  /** The folders of the packages in it. */
  readonly packages: readonly string[];
}

/** The administrator's page: from the last build if nothing has changed since, or else built now. */
export async function makePage(): Promise<Built> {
  const digest = digestSources();
  const known = findBuilt();
  if (known?.digest === digest) return known;
  const page = await buildPage(digest);
  keep(page);
  return page;
}

/** The user that runs the server may not be allowed to write here; then each start builds the page. */
function keep(page: Built): void {
  try {
    mkdirSync(dirname(FILE), { recursive: true });
    // Whoever reads it meanwhile gets the old one.
    writeFileSync(`${FILE}.${process.pid}`, JSON.stringify(page));
    renameSync(`${FILE}.${process.pid}`, FILE);
  } catch (error) {
    process.stderr.write(`The page was built, but not kept: ${(error as Error).message}\n`);
  }
}

function findBuilt(): Built | null {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8')) as Built;
  } catch {
    return null;
  }
}

function digestSources(): string {
  const hash = createHash('sha256');
  const paths = globSync(SOURCES, { cwd: ROOT }).filter((path) => /\.(?:tsx?|css|svg)$/.test(path));
  for (const path of [...paths.filter((path) => !path.includes('.test.')), 'package-lock.json'].sort()) {
    hash.update(`${path}\n`).update(readFileSync(join(ROOT, path)));
  }
  return hash.digest('hex');
}

async function buildPage(digest: string): Promise<Built> {
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: { page: 'packages/admin/src/main.tsx' },
    outdir: 'packages/admin/dist',
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    // The browsers of the last two years.
    target: ['chrome120', 'firefox120', 'safari17'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'warning',
  });
  const find = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? '';
  const icon = readFileSync(join(ROOT, 'packages/admin/src/icon.svg'), 'utf8');
  const packages = listPackages(Object.keys(metafile.inputs));
  return { digest, packages, script: find('.js'), style: find('.css'), icon };
}

// `npm run page`; the server reads what it prints.
async function printPage(): Promise<void> {
  const { script, style, icon } = await makePage();
  if (process.argv.includes('--print')) process.stdout.write(JSON.stringify({ script, style, icon }));
}

// Not awaited, so that others can load this file synchronously.
if (import.meta.main) void printPage();
