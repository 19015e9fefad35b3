import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Origin } from '@berth/shell/console/command-line';
import { COMMIT_DIGITS } from '../bin/origin.ts';

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

/** Asks git. An image is built without a repository: there `COMMIT` and `SOURCE_DATE_EPOCH` may say it. */
export function findSource(env: NodeJS.ProcessEnv = process.env): Source {
  const [commit = '', seconds = ''] = git('log', '-1', '--format=%H %ct').split(' ');
  const epoch = Number(env.SOURCE_DATE_EPOCH || seconds);
  const known = (commit || env.COMMIT || '').slice(0, COMMIT_DIGITS);
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

function git(...words: string[]): string {
  return (spawnSync('git', words, { cwd: ROOT, encoding: 'utf8' }).stdout ?? '').trim();
}
