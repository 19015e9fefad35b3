import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const RUN = ['packages', 'bin', 'build', 'test', ':!test/faults/records', ':!test/bench/record'];

function git(...words: readonly string[]): string {
  return execFileSync('git', words, { cwd: ROOT, encoding: 'utf8' }).trim();
}

/** What runs here. With a plus, if it is not what was committed. */
export function readCommit(): string {
  const changed = git('status', '--porcelain', '--', ...RUN);
  return `${git('rev-parse', '--short=10', 'HEAD')}${changed === '' ? '' : '+'}`;
}
