/** The system functions needed here: `node:fs`, `node:path` and the user's id, passed in by the caller. */
interface FolderSystem {
  readonly fs: {
    accessSync(path: string, mode: number): void;
    existsSync(path: string): boolean;
    mkdirSync(path: string, options: { readonly mode: number }): unknown;
    readFileSync(path: string, encoding: 'utf8'): string;
    statSync(path: string): FileFacts;
    readonly constants: { readonly R_OK: number; readonly W_OK: number; readonly X_OK: number };
  };
  readonly path: { dirname(path: string): string; resolve(path: string): string };
  /** `null` if the system has no user ids. */
  readonly userId: number | null;
}

interface FileFacts {
  readonly uid: number;
  readonly mode: number;
  isDirectory(): boolean;
}

/**
 * Creates a folder that only its owner can access. Node's `recursive` option loops forever where folders
 * cannot be created, such as in /proc, and reports a read-only disk as missing.
 */
export function createPrivateFolder(folder: string, system: FolderSystem): void {
  const { fs } = system;
  const obstacle = findObstacle(folder, system);
  if (obstacle !== null) throw new Error(sayNoFolder(obstacle));
  for (const path of listPath(folder, system).filter((one) => !fs.existsSync(one))) {
    try {
      fs.mkdirSync(path, { mode: 0o700 });
    } catch (error) {
      // Another process created it first.
      if (codeOf(error) !== 'EEXIST') throw new Error(explainCreation(path, error, system));
    }
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
export function explainFolder(folder: string, files: UsedFiles, system: FolderSystem): string | null {
  const { R_OK, W_OK, X_OK } = system.fs.constants;
  const obstacle = findObstacle(folder, system);
  if (obstacle !== null) return sayNoFolder(obstacle);
  const above = listPath(folder, system).slice(0, -1);
  const problems = [
    ...above.map((path) => explainAccess(path, X_OK, system)),
    ...[folder, ...files.written].map((path) => explainAccess(path, R_OK | W_OK, system)),
    ...files.read.map((path) => explainAccess(path, R_OK, system)),
  ];
  return problems.find((problem) => problem !== null) ?? null;
}

/** The folder and its parents, the outermost first. */
function listPath(folder: string, { path: names }: FolderSystem): readonly string[] {
  const all = [names.resolve(folder)];
  for (;;) {
    const [path = ''] = all;
    const parent = names.dirname(path);
    if (parent === path) return all;
    all.unshift(parent);
  }
}

/** The path of the folder or of a parent that is not a folder. */
function findObstacle(folder: string, system: FolderSystem): string | null {
  return listPath(folder, system).find((path) => findFacts(path, system)?.isDirectory() === false) ?? null;
}

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown }).code;
}

function explainCreation(path: string, error: unknown, system: FolderSystem): string {
  const { W_OK, X_OK } = system.fs.constants;
  const parent = system.path.dirname(path);
  if (codeOf(error) === 'ENOTDIR') return sayNoFolder(parent);
  if (codeOf(error) === 'ENOENT') {
    return `Cannot create a folder in ${parent}. Choose another one with --data.`;
  }
  return explainAccess(parent, W_OK | X_OK, system) ?? (error as Error).message;
}

function sayNoFolder(path: string): string {
  return `${path} is a file, not a folder. Choose another path with --data.`;
}

function explainAccess(path: string, mode: number, system: FolderSystem): string | null {
  try {
    system.fs.accessSync(path, mode);
    return null;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EROFS') {
      return (
        `${path} is on a disk that is mounted read-only. Mount it writable, or choose another folder with ` +
        '--data.'
      );
    }
    const facts = code === 'EACCES' || code === 'EPERM' ? findFacts(path, system) : null;
    return facts === null ? null : sayDenied(path, facts, system);
  }
}

function findFacts(path: string, { fs }: FolderSystem): FileFacts | null {
  try {
    return fs.statSync(path);
  } catch {
    return null;
  }
}

const STICKY = 0o1000;

function sayDenied(path: string, facts: FileFacts, system: FolderSystem): string {
  const { uid: owner } = facts;
  const { userId: self } = system;
  if (owner === self) {
    const mode = (facts.mode & 0o7777).toString(8).padStart(4, '0');
    const problem = `${path} is yours, but its mode ${mode} denies you access`;
    // The folder is shared, so do not suggest to change its mode.
    if ((facts.mode & STICKY) !== 0) return `${problem}. Choose another folder with --data.`;
    return `${problem}: chmod ${facts.isDirectory() ? 700 : 600} ${path}`;
  }
  if (self !== null && !facts.isDirectory() && isMine(system.path.dirname(path), system)) {
    const me = findUserName(self, system) ?? self;
    return `${path} is in your folder, but belongs to ${sayUser(owner, system)}: sudo chown ${me} ${path}`;
  }
  const you = self === null ? '' : `, and you are ${sayUser(self, system)}`;
  const name = findUserName(owner, system) ?? `'#${owner}'`;
  return (
    `${path} belongs to ${sayUser(owner, system)}${you}: you cannot use it. ` +
    `Run the command as that user (sudo -u ${name} …), or choose another folder with --data.`
  );
}

function isMine(folder: string, system: FolderSystem): boolean {
  return findFacts(folder, system)?.uid === system.userId;
}

function sayUser(id: number, system: FolderSystem): string {
  const name = findUserName(id, system);
  return name === null ? `the user with id ${id}` : `the user "${name}" (id ${id})`;
}

const USERS_FILE = '/etc/passwd';

/** Node cannot look up a user name; `null` if /etc/passwd does not have it either. */
function findUserName(id: number, { fs }: FolderSystem): string | null {
  if (!fs.existsSync(USERS_FILE)) return null;
  const users = fs.readFileSync(USERS_FILE, 'utf8').split('\n');
  const found = users.map((line) => line.split(':')).find(([, , uid]) => uid === String(id));
  return found?.[0] ?? null;
}
