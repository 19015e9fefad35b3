import { findFunctionBodies } from './scanner.ts';
import { codeOf, type Finding, isTypeScript, lineAt, type SourceFile } from './source.ts';

const MAX_FILE_LINES = 400;
const MAX_FUNCTION_LINES = 70;
const MAX_COLUMNS = 110;
const MAY_BE_LONG = /https?:\/\/|\bbiome-ignore\b/;

function splitLines(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}

export function findLongFiles(files: SourceFile[]): Finding[] {
  return files.filter(isTypeScript).flatMap(({ path, text }) => {
    const count = splitLines(text).length;
    if (count <= MAX_FILE_LINES) return [];
    const message =
      `The file has ${count} lines, more than the ${MAX_FILE_LINES} that one reads in a sitting; ` +
      'split it by subject.';
    return [{ path, line: MAX_FILE_LINES + 1, rule: 'file-length', message }];
  });
}

/** A describe callback is a chapter of tests and no function to understand as a whole. */
function isChapter(path: string, callee: string): boolean {
  return path.endsWith('.test.ts') && /^(?:describe|describeStores|suite)(?:\.|$)/.test(callee);
}

function findLongFunctionsIn(file: SourceFile): Finding[] {
  const code = codeOf(file);
  return findFunctionBodies(code).flatMap(({ open, close, callee }) => {
    const line = lineAt(code, open);
    const count = lineAt(code, close) - line + 1;
    if (count <= MAX_FUNCTION_LINES || isChapter(file.path, callee)) return [];
    const message =
      `The function has ${count} lines, more than the ${MAX_FUNCTION_LINES} that fit on a screen; ` +
      'give its steps names of their own.';
    return [{ path: file.path, line, rule: 'function-length', message }];
  });
}

export function findLongFunctions(files: SourceFile[]): Finding[] {
  return files.filter(isTypeScript).flatMap(findLongFunctionsIn);
}

export function findLongLines(files: SourceFile[]): Finding[] {
  return files.filter(isTypeScript).flatMap(({ path, text }) =>
    splitLines(text).flatMap((line, index) => {
      const columns = Array.from(line).length;
      if (columns <= MAX_COLUMNS || MAY_BE_LONG.test(line)) return [];
      const message = `The line has ${columns} columns and is cut in a review; break it at ${MAX_COLUMNS}.`;
      return [{ path, line: index + 1, rule: 'line-length', message }];
    }),
  );
}
