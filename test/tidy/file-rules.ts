import { posix } from 'node:path';
import { listImports, resolveImport } from './imports.ts';
import { codeOf, type Finding, findPattern, isTypeScript, productFiles, type SourceFile } from './source.ts';

const ENTRIES = [
  'packages/server/src/main.ts',
  'packages/cloud/src/main.ts',
  'packages/admin/src/main.tsx',
  'packages/client/src/main.ts',
  'packages/client/src/web.ts',
];
const VAGUE_NAMES = new Set([
  'utils.ts',
  'helpers.ts',
  'manager.ts',
  'types.ts',
  'index.ts',
  'components.tsx',
]);
const KEBAB_CASE = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z]+)?\.tsx?$/;

export function findDefaultExports(files: SourceFile[]): Finding[] {
  return files
    .filter(isTypeScript)
    .flatMap((file) =>
      findPattern(
        file,
        codeOf(file),
        /\bexport\s+default\b|\bas\s+default\b/,
        'default-export',
        () => 'A default export has another name in every file that imports it; export it by its name.',
      ),
    );
}

function judgeName(name: string): string | undefined {
  if (VAGUE_NAMES.has(name)) {
    return `The name '${name}' says nothing and gathers everything; name the file for what it holds.`;
  }
  if (KEBAB_CASE.test(name)) return undefined;
  return `The name '${name}' is not in kebab-case, so it is found by luck; write it like 'two-words.ts'.`;
}

export function findBadNames(files: SourceFile[]): Finding[] {
  return files.filter(isTypeScript).flatMap(({ path }) => {
    const message = judgeName(posix.basename(path));
    return message === undefined ? [] : [{ path, line: 1, rule: 'file-name', message }];
  });
}

function markReached(from: string, byPath: Map<string, SourceFile>, reached: Set<string>): void {
  const file = byPath.get(from);
  if (file === undefined || reached.has(from)) return;
  reached.add(from);
  for (const { specifier } of listImports(file)) {
    const path = resolveImport(from, specifier);
    if (path !== undefined) markReached(path, byPath, reached);
  }
}

/** Every file that somebody gets to who starts at one of these. */
function reachFrom(entries: readonly string[], byPath: Map<string, SourceFile>): ReadonlySet<string> {
  const reached = new Set<string>();
  for (const path of entries) markReached(path, byPath, reached);
  return reached;
}

/** What only tests use is dead, too: it has not been wired. */
export function findDeadFiles(files: SourceFile[]): Finding[] {
  const sources = files.filter(isTypeScript);
  const byPath = new Map(sources.map((file) => [file.path, file]));
  const inProduct = reachFrom(ENTRIES, byPath);
  return productFiles(files, 'packages/')
    .filter(({ path }) => !inProduct.has(path))
    .map(({ path }) => ({
      path,
      line: 1,
      rule: 'dead-file',
      message: 'Nothing that starts at a main.ts imports the file; use it or delete it.',
    }));
}
