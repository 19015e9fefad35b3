import { fileURLToPath } from 'node:url';
import { readProjectFiles } from '../tidy/project-files.ts';
import { rules } from '../tidy/rules.ts';
import { format } from './door/result-row.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Rounded down so far that a page stays true for long. */
const STEPS = { lines: 10_000, files: 100, tests: 500 } as const;

/** How large the tests are, beside what they test. */
export function writeSize(): readonly string[] {
  const all = readProjectFiles(ROOT).filter(({ path }) => /\.tsx?$/.test(path) && !/generated\//.test(path));
  const sources = all.filter(({ path }) => /^packages\/[^/]+\/src\//.test(path));
  const tests = all.filter(({ path }) => /^(packages\/[^/]+\/)?test\//.test(path));
  const files = tests.filter(({ path }) => path.endsWith('.test.ts')).length;
  const [lines, testLines] = [sources, tests].map((some) => atLeast(count(some, /\n/g), STEPS.lines));
  const calls = atLeast(count(tests, /^ *test\(/gm), STEPS.tests);
  return [
    `There are at least ${lines} lines of TypeScript in the programs, and ${testLines} in their tests:`,
    `${calls} calls of \`test\` in ${atLeast(files, STEPS.files)} files, many of which run on both stores.`,
    `One test checks ${Object.keys(rules).length} formal rules (\`test/tidy/rules.ts\`), besides what the`,
    'compiler and Biome check.',
  ];
}

function count(files: readonly { readonly text: string }[], pattern: RegExp): number {
  return files.reduce((sum, { text }) => sum + (text.match(pattern)?.length ?? 0), 0);
}

function atLeast(value: number, step: number): string {
  return format(Math.floor(value / step) * step);
}
