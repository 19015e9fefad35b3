import { findWhySlow } from './regex-time.ts';
import { findRegexes } from './scanner.ts';
import { codeOf, type Finding, findPattern, lineAt, productFiles, type SourceFile } from './source.ts';

/** Somebody could send a text that keeps the server busy for as long as they like. */
export function findSlowRegexes(files: SourceFile[]): Finding[] {
  return productFiles(files, 'packages/').flatMap((file) =>
    findRegexes(file.text).flatMap(({ offset, source, flags }) => {
      const why = findWhySlow(source, flags);
      const message = `/${source}/ may take more than linear time: ${why}.`;
      return why === null
        ? []
        : [{ path: file.path, line: lineAt(file.text, offset), rule: 'linear-regex', message }];
    }),
  );
}

/** What is put together while the program runs cannot be judged before. */
export function findHiddenRegexes(files: SourceFile[]): Finding[] {
  return productFiles(files, 'packages/').flatMap((file) =>
    findPattern(
      file,
      codeOf(file),
      /\bRegExp\s*\(/,
      'plain-regex',
      () => 'Write the regular expression out, so that the time it takes can be judged.',
    ),
  );
}
