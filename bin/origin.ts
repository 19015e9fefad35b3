import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Origin } from '@berth/shell/console/command-line';

/** In a bundle, what `build/` found out about its commit. */
declare const BUILD_ORIGIN: Origin | null;

/** The commit of this program, or null if it is unknown. A clone is asked without git, which may be missing. */
export function findOrigin(): Origin | null {
  if (typeof BUILD_ORIGIN !== 'undefined') return BUILD_ORIGIN;
  const root = fileURLToPath(new URL('..', import.meta.url));
  const git = join(root, '.git');
  try {
    const commit = existsSync(git) ? readHead(git) : (readArchived(root)?.commit ?? null);
    return commit === null ? null : { commit: commit.slice(0, COMMIT_DIGITS), date: null };
  } catch {
    return null;
  }
}

/** git's own abbreviation grows with the repository. */
export const COMMIT_DIGITS = 8;

/**
 * The commit of an unpacked archive of the source, and its time in seconds: `git archive` writes them into the
 * file. Null in a clone, where the file has the pattern.
 */
export function readArchived(root: string): { readonly commit: string; readonly epoch: number } | null {
  const file = join(root, 'bin', 'commit.txt');
  const [commit = '', epoch] = existsSync(file) ? readText(file).split(' ') : [];
  return /^[0-9a-f]{40,64}$/.test(commit) ? { commit, epoch: Number(epoch) } : null;
}

/** Returns the checked-out commit of a repository. */
export function readHead(git: string): string | null {
  // A linked worktree has a file that names its folder.
  const [, linked] = existsSync(join(git, 'HEAD')) ? [] : (/^gitdir: (.*)/.exec(readText(git)) ?? []);
  const folder = linked === undefined ? git : resolve(git, '..', linked);
  const head = readText(join(folder, 'HEAD'));
  const [, branch] = /^ref: (.*)/.exec(head) ?? [];
  if (branch === undefined) return head;
  const common = join(folder, 'commondir');
  const shared = existsSync(common) ? resolve(folder, readText(common)) : folder;
  const loose = [folder, shared].map((one) => join(one, branch)).find((file) => existsSync(file));
  if (loose !== undefined) return readText(loose);
  const packed = readText(join(shared, 'packed-refs')).split('\n');
  return packed.find((line) => line.endsWith(` ${branch}`))?.split(' ')[0] ?? null;
}

function readText(file: string): string {
  return readFileSync(file, 'utf8').trim();
}
