import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Origin } from '@berth/shell/console/command-line';
import { COMMIT_DIGITS, readArchived } from '../bin/origin.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** What is built. */
export interface Source {
  /** Null where there is no repository. */
  readonly origin: Origin | null;
  readonly isRelease: boolean;
  /** The only time in what is built: that of the commit, in seconds. */
  readonly epoch: number;
  /** Files that differ from the commit. */
  readonly changed: readonly string[];
}

/**
 * Asks git. An unpacked archive has it in a file. An image is built without a repository: there `COMMIT` and
 * `SOURCE_DATE_EPOCH` may say it.
 */
export function findSource(root = ROOT, env: NodeJS.ProcessEnv = process.env): Source {
  const git = existsSync(join(root, '.git')) ? (...words: string[]) => askGit(root, words) : () => '';
  const [commit = '', seconds = ''] = git('log', '-1', '--format=%H %ct').split(' ');
  const archived = readArchived(root);
  const epoch = Number(env.SOURCE_DATE_EPOCH || seconds || (archived?.epoch ?? 0));
  const known = (commit || env.COMMIT || archived?.commit || '').slice(0, COMMIT_DIGITS);
  return {
    origin: known === '' ? null : { commit: known, date: epoch > 0 ? toDate(epoch) : null },
    isRelease: git('tag', '--points-at', 'HEAD') !== '',
    epoch,
    changed: git('status', '--porcelain').split('\n').filter(Boolean),
  };
}

function toDate(epoch: number): string {
  return new Date(epoch * 1000).toISOString().slice(0, 10);
}

function askGit(cwd: string, words: readonly string[]): string {
  return (spawnSync('git', words, { cwd, encoding: 'utf8' }).stdout ?? '').trim();
}
