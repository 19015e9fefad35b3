import { accessSync, constants, existsSync, mkdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** What this process reads and writes in a data folder, as far as it is there. */
const USED_FILES = ['berth.lock', 'berth.db', 'berth.db-wal', 'berth.db-shm', 'master.key'];

/**
 * Creates the folder for nobody but its owner. One by one: Node's own recursion goes round for ever where
 * folders cannot be made, such as in /proc, and says of a read-only disk that it is not there.
 */
export function createDataFolder(folder: string): void {
  for (const path of listPath(folder).filter((one) => !existsSync(one))) {
    try {
      mkdirSync(path, { mode: 0o700 });
    } catch (error) {
      // Somebody else was faster.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw new Error(explainCreation(path, error));
    }
  }
}

/** Why this process cannot work in a folder, and what to do; `null`: nothing is known to stand in the way. */
export function explainFolder(folder: string): string | null {
  const above = listPath(folder).slice(0, -1);
  const used = [folder, ...USED_FILES.map((name) => join(folder, name))];
  const problems = [
    ...above.map((path) => explainAccess(path, constants.X_OK)),
    existsSync(folder) && !statSync(folder).isDirectory() ? sayNoFolder(folder) : null,
    ...used.map((path) => explainAccess(path, constants.R_OK | constants.W_OK)),
  ];
  return problems.find((problem) => problem !== null) ?? null;
}

/** The folder and all above it, the outermost first. */
function listPath(folder: string): readonly string[] {
  const path = resolve(folder);
  const parent = dirname(path);
  return parent === path ? [path] : [...listPath(parent), path];
}

function explainCreation(path: string, error: unknown): string {
  const parent = dirname(path);
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOTDIR') return sayNoFolder(parent);
  if (code === 'ENOENT') return `The system takes no folders in ${parent}. Name another one with --data.`;
  return explainAccess(parent, constants.W_OK | constants.X_OK) ?? message;
}

function sayNoFolder(path: string): string {
  return `${path} is a file, and the data needs a folder. Name another one with --data.`;
}

function explainAccess(path: string, mode: number): string | null {
  try {
    accessSync(path, mode);
    return null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EROFS') {
      return `${path} is on a disk that is mounted read-only. Mount it for writing, or name another folder with --data.`;
    }
    const stats = code === 'EACCES' || code === 'EPERM' ? findStats(path) : null;
    return stats === null ? null : sayDenied(path, stats);
  }
}

function findStats(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

function sayDenied(path: string, stats: Stats): string {
  const { uid: owner } = stats;
  const self = process.getuid?.() ?? null;
  if (owner === self) {
    const mode = (stats.mode & 0o7777).toString(8).padStart(4, '0');
    return `${path} is yours, but its mode ${mode} keeps you out: chmod ${stats.isDirectory() ? 700 : 600} ${path}`;
  }
  const name = findUserName(owner);
  const you = self === null ? '' : `, and you are ${sayUser(self)}`;
  return (
    `${path} belongs to ${sayUser(owner)}${you}: you may not use it. ` +
    `Run the command as that user (sudo -u ${name ?? `'#${owner}'`} …), or name another folder with --data.`
  );
}

function sayUser(id: number): string {
  const name = findUserName(id);
  return name === null ? `the user with the id ${id}` : `the user "${name}" (id ${id})`;
}

const PASSWD = '/etc/passwd';

/** Node does not know who a number is. `null`: neither does this machine's list. */
function findUserName(id: number): string | null {
  if (!existsSync(PASSWD)) return null;
  const fields = readFileSync(PASSWD, 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  return fields.find(([, , uid]) => uid === String(id))?.[0] ?? null;
}
