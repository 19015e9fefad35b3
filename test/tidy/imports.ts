import { posix } from 'node:path';
import { codeOf, lineAt, type SourceFile } from './source.ts';

export interface Import {
  specifier: string;
  line: number;
}

const IMPORT = /(?:\bfrom\s*|\bimport\s*\(?\s*|\bimport\.meta\.resolve\(\s*)(['"`])( *)\1/g;
const MODULE_URL = /\bnew\s+URL\s*\(\s*(['"`])( *)\1(?=\s*,\s*import\.meta\.url)/g;

function readSpecifier(file: SourceFile, match: RegExpExecArray): Import {
  const end = match.index + match[0].length - 1;
  const specifier = file.text.slice(end - (match[2] ?? '').length, end);
  return { specifier, line: lineAt(file.text, match.index) };
}

/** Everything the file loads: imports, re-exports, dynamic imports, and module addresses of workers. */
export function listImports(file: SourceFile): Import[] {
  const code = codeOf(file);
  const imports = Array.from(code.matchAll(IMPORT), (match) => readSpecifier(file, match));
  const addresses = Array.from(code.matchAll(MODULE_URL), (match) => readSpecifier(file, match));
  return [...imports, ...addresses.filter(({ specifier }) => specifier.endsWith('.ts'))];
}

/** The path in the repository which a specifier means, or undefined if it is a package from outside. */
export function resolveImport(from: string, specifier: string): string | undefined {
  if (/^\.\.?(?:\/|$)/.test(specifier)) return posix.join(posix.dirname(from), specifier);
  const workspace = /^@berth\/([^/]+)(?:\/(.+))?$/.exec(specifier);
  if (!workspace) return undefined;
  return posix.join('packages', workspace[1] ?? '', 'src', `${workspace[2] ?? 'main'}.ts`);
}
