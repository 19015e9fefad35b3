import { maskSource } from './scanner.ts';

export interface SourceFile {
  path: string;
  text: string;
}

export interface Finding {
  path: string;
  line: number;
  rule: string;
  message: string;
}

const masked = new WeakMap<SourceFile, string>();

/** The code alone: what stands in comments, strings and regular expressions is blank, offsets are kept. */
export function codeOf(file: SourceFile): string {
  const known = masked.get(file) ?? maskSource(file.path.endsWith('.tsx') ? hideTags(file.text) : file.text);
  masked.set(file, known);
  return known;
}

/** The ends of JSX tags look like regular expressions. Its text must not have straight quotes. */
function hideTags(text: string): string {
  return text.replace(/<\/[\w.]*>|\/>/g, (tag) => ' '.repeat(tag.length));
}

export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

export function isTypeScript(file: SourceFile): boolean {
  return /^(?:build|packages|test)\/.*\.tsx?$/.test(file.path);
}

function isTest(path: string): boolean {
  return /^(?:test|packages\/[^/]+\/test)\//.test(path);
}

/** TypeScript below the folder which is part of the product, so no test. */
export function productFiles(files: SourceFile[], folder: string): SourceFile[] {
  return files.filter((file) => isTypeScript(file) && file.path.startsWith(folder) && !isTest(file.path));
}

/** One finding for each place where the pattern occurs in the text given for the file. */
export function findPattern(
  file: SourceFile,
  text: string,
  pattern: RegExp,
  rule: string,
  describe: (matched: string) => string,
): Finding[] {
  return Array.from(text.matchAll(new RegExp(pattern, 'g')), (match) => ({
    path: file.path,
    line: lineAt(text, match.index),
    rule,
    message: describe(match[0].trim()),
  }));
}
