import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readArchived } from '../../bin/origin.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DIGITS = 10;
const RUN = ['packages', 'bin', 'build', 'test', ':!test/faults/records', ':!test/bench/record'];

function git(...words: readonly string[]): string {
  return execFileSync('git', words, { cwd: ROOT, encoding: 'utf8' }).trim();
}

/** What runs here. With a plus, if it is not what was committed: an unpacked archive cannot tell. */
export function readCommit(): string {
  if (!existsSync(join(ROOT, '.git'))) return readArchived(ROOT)?.commit.slice(0, DIGITS) ?? 'unknown';
  const changed = git('status', '--porcelain', '--', ...RUN);
  return `${git('rev-parse', `--short=${DIGITS}`, 'HEAD')}${changed === '' ? '' : '+'}`;
}
