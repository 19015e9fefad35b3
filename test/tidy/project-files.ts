import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import type { SourceFile } from './source.ts';

const SKIPPED = new Set(['node_modules', '.git', 'dist', 'data', 'cloud-data']);
const TEXT_FILE = /\.(?:tsx?|css|json|md|ya?ml|sql|sh)$|(?:^|\/)(?:\.npmrc|Dockerfile|\.ci\/run)$/;

function listPaths(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !SKIPPED.has(entry.name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return listPaths(path);
      return entry.isFile() ? [path] : [];
    });
}

/** The text files of the project by their path from its root; walks by itself, as a release has no git. */
export function readProjectFiles(root: string): SourceFile[] {
  return listPaths(root)
    .map((path) => ({ absolute: path, path: relative(root, path).split(sep).join('/') }))
    .filter(({ path }) => TEXT_FILE.test(path))
    .map(({ absolute, path }) => ({ path, text: readFileSync(absolute, 'utf8') }));
}
