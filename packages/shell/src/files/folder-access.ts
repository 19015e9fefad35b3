import { accessSync, constants, existsSync, mkdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { syncFolder } from './durable-file.ts';

/**
 * Creates a folder that only its owner can access. Node's `recursive` option loops forever where folders
 * cannot be created, such as in /proc, and reports a read-only disk as missing.
 */
export function createPrivateFolder(folder: string): void {
  const obstacle = findObstacle(folder);
  if (obstacle !== null) throw new Error(sayNoFolder(obstacle));
  for (const path of listPath(folder).filter((one) => !existsSync(one))) {
    try {
      mkdirSync(path, { mode: 0o700 });
      syncParent(path);
    } catch (error) {
      // Another process created it first.
      if (codeOf(error) !== 'EEXIST') throw new Error(explainCreation(path, error));
    }
  }
}

/** Folders that may be written but not read cannot be synced, nor can those of some file systems. */
const CANNOT_SYNC = ['EACCES', 'EPERM', 'EINVAL'];

/** Without its name, a power cut would take a new folder with everything in it. */
function syncParent(path: string): void {
  try {
    syncFolder(dirname(path));
  } catch (error) {
    if (!CANNOT_SYNC.includes(String(codeOf(error)))) throw error;
  }
}

/** What a process does with its files, if they exist. */
interface UsedFiles {
  readonly written: readonly string[];
  readonly read: readonly string[];
}

/**
 * Explains why this process cannot use a folder and the files in it, and what to do; `null` if no reason is
 * known.
 */
export function explainFolder(folder: string, files: UsedFiles): string | null {
  const obstacle = findObstacle(folder);
  if (obstacle !== null) return sayNoFolder(obstacle);
  const above = listPath(folder).slice(0, -1);
  const problems = [
    ...above.map((path) => explainAccess(path, constants.X_OK)),
    ...[folder, ...files.written].map((path) => explainAccess(path, constants.R_OK | constants.W_OK)),
    ...files.read.map((path) => explainAccess(path, constants.R_OK)),
  ];
  return problems.find((problem) => problem !== null) ?? null;
}

/** The folder and its parents, the outermost first. */
function listPath(folder: string): readonly string[] {
  const all = [resolve(folder)];
  for (;;) {
    const [path = ''] = all;
    const parent = dirname(path);
    if (parent === path) return all;
    all.unshift(parent);
  }
}

/** The path of the folder or of a parent that is not a folder. */
function findObstacle(folder: string): string | null {
  return listPath(folder).find((path) => findFacts(path)?.isDirectory() === false) ?? null;
}

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown }).code;
}

function explainCreation(path: string, error: unknown): string {
  const parent = dirname(path);
  if (codeOf(error) === 'ENOTDIR') return sayNoFolder(parent);
  if (codeOf(error) === 'ENOENT') {
    return `Cannot create a folder in ${parent}. Choose another one with --data.`;
  }
  return explainAccess(parent, constants.W_OK | constants.X_OK) ?? (error as Error).message;
}

function sayNoFolder(path: string): string {
  return `${path} is a file, not a folder. Choose another path with --data.`;
}

function explainAccess(path: string, mode: number): string | null {
  try {
    accessSync(path, mode);
    return null;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EROFS') {
      return (
        `${path} is on a disk that is mounted read-only. Mount it writable, or choose another folder with ` +
        '--data.'
      );
    }
    const facts = code === 'EACCES' || code === 'EPERM' ? findFacts(path) : null;
    return facts === null ? null : sayDenied(path, facts);
  }
}

function findFacts(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

const STICKY = 0o1000;

function sayDenied(path: string, facts: Stats): string {
  const { uid: owner } = facts;
  const self = process.getuid?.() ?? null;
  if (owner === self) {
    const mode = (facts.mode & 0o7777).toString(8).padStart(4, '0');
    const problem = `${path} is yours, but its mode ${mode} denies you access`;
    // The folder is shared, so do not suggest to change its mode.
    if ((facts.mode & STICKY) !== 0) return `${problem}. Choose another folder with --data.`;
    return `${problem}: chmod ${facts.isDirectory() ? 700 : 600} ${path}`;
  }
  if (self !== null && !facts.isDirectory() && isMine(dirname(path))) {
    const me = findUserName(self) ?? self;
    return `${path} is in your folder, but belongs to ${sayUser(owner)}: sudo chown ${me} ${path}`;
  }
  const you = self === null ? '' : `, and you are ${sayUser(self)}`;
  const name = findUserName(owner) ?? `'#${owner}'`;
  return (
    `${path} belongs to ${sayUser(owner)}${you}: you cannot use it. ` +
    `Run the command as that user (sudo -u ${name} …), or choose another folder with --data.`
  );
}

function isMine(folder: string): boolean {
  return findFacts(folder)?.uid === process.getuid?.();
}

function sayUser(id: number): string {
  const name = findUserName(id);
  return name === null ? `the user with id ${id}` : `the user "${name}" (id ${id})`;
}

const USERS_FILE = '/etc/passwd';

/** Node cannot look up a user name; `null` if /etc/passwd does not have it either. */
function findUserName(id: number): string | null {
  if (!existsSync(USERS_FILE)) return null;
  const users = readFileSync(USERS_FILE, 'utf8').split('\n');
  const found = users.map((line) => line.split(':')).find(([, , uid]) => uid === String(id));
  return found?.[0] ?? null;
}
