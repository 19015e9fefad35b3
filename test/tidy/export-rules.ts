import { listImports, resolveImport } from './imports.ts';
import { codeOf, type Finding, isTypeScript, lineAt, type SourceFile } from './source.ts';

const EXPORT = /^export (?:async |abstract )?(?:class|const|enum|function\*?|interface|let|type) (\w+)/gm;
const NAMED_IMPORT = /\b(?:import|export)\s+(?:type\s+)?(?:\w+,\s*)?\{([^}]*)\}\s*from\s*(['"])( *)\2/g;

/** `bin/` starts them, or an application imports them. */
const ENTRY = /^packages\/(?:[^/]+\/src\/main\.tsx?|client\/src\/web\.ts)$/;

/** What the files take from others, as `path name`; `path *` where a file is loaded as a whole. */
function listUses(files: SourceFile[]): Set<string> {
  const uses = new Set<string>();
  for (const file of files) {
    const code = codeOf(file);
    const named = Array.from(code.matchAll(NAMED_IMPORT), (match) => {
      const end = match.index + match[0].length - 1;
      const specifier = file.text.slice(end - (match[3] ?? '').length, end);
      const names = (match[1] ?? '').split(',').map((name) => /(?:\btype )?\b(\w+)/.exec(name)?.[1]);
      for (const name of names) uses.add(`${resolveImport(file.path, specifier)} ${name}`);
      return specifier;
    });
    for (const { specifier } of listImports(file)) {
      const index = named.indexOf(specifier);
      if (index === -1) uses.add(`${resolveImport(file.path, specifier)} *`);
      else named.splice(index, 1);
    }
  }
  return uses;
}

export function findUnusedExports(files: SourceFile[]): Finding[] {
  const sources = files.filter(isTypeScript);
  const uses = listUses(sources);
  const judged = sources.filter(({ path }) => !ENTRY.test(path) && !uses.has(`${path} *`));
  return judged.flatMap((file) =>
    Array.from(codeOf(file).matchAll(EXPORT))
      .filter((match) => !uses.has(`${file.path} ${match[1]}`))
      .map((match) => ({
        path: file.path,
        line: lineAt(file.text, match.index),
        rule: 'unused-export',
        message:
          `No other file imports '${match[1]}', though it looks as if one might; ` +
          "drop the 'export', or all of it if nothing here uses it either.",
      })),
  );
}
