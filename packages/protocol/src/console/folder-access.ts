/** What is asked of the system; `node:fs`, `node:path` and the user's id, handed in by whoever has them. */
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
  /** `null`: the system has no such thing. */
  readonly userId: number | null;
}

interface FileFacts {
  readonly uid: number;
  readonly mode: number;
  isDirectory(): boolean;
}

/**
 * Creates a folder for nobody but its owner. One by one: Node's own recursion goes round for ever where
 * folders cannot be made, such as in /proc, and says of a read-only disk that it is not there.
 */
export function createPrivateFolder(folder: string, system: FolderSystem): void {
  const { fs } = system;
  const obstacle = findObstacle(folder, system);
  if (obstacle !== null) throw new Error(sayNoFolder(obstacle));
  for (const path of listPath(folder, system).filter((one) => !fs.existsSync(one))) {
    try {
      fs.mkdirSync(path, { mode: 0o700 });
    } catch (error) {
      // Somebody else was faster.
      if (codeOf(error) !== 'EEXIST') throw new Error(explainCreation(path, error, system));
    }
  }
}

/** What a process does with files, as far as they are there. */
interface UsedFiles {
  readonly written: readonly string[];
  readonly read: readonly string[];
}

/**
 * Why this process cannot work in a folder and with the files in it, and what to do; `null`: nothing is known
 * to stand in the way.
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

/** The folder and all above it, the outermost first. */
function listPath(folder: string, { path: names }: FolderSystem): readonly string[] {
  const all = [names.resolve(folder)];
  for (;;) {
    const [path = ''] = all;
    const parent = names.dirname(path);
    if (parent === path) return all;
    all.unshift(parent);
  }
}

/** What is in the place of the folder, or of one above it, and is none. */
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
    return `No folder can be created in ${parent}. Name another one with --data.`;
  }
  return explainAccess(parent, W_OK | X_OK, system) ?? (error as Error).message;
}

function sayNoFolder(path: string): string {
  return `${path} is a file, and the data needs a folder. Name another one with --data.`;
}

function explainAccess(path: string, mode: number, system: FolderSystem): string | null {
  try {
    system.fs.accessSync(path, mode);
    return null;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EROFS') {
      return (
        `${path} is on a disk that is mounted read-only. Mount it for writing, or name another folder with ` +
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
    const problem = `${path} is yours, but its mode ${mode} keeps you out`;
    // Others share it: its mode is not ours to change.
    if ((facts.mode & STICKY) !== 0) return `${problem}. Name another folder with --data.`;
    return `${problem}: chmod ${facts.isDirectory() ? 700 : 600} ${path}`;
  }
  if (self !== null && !facts.isDirectory() && isMine(system.path.dirname(path), system)) {
    const me = findUserName(self, system) ?? self;
    return `${path} is in your folder, but belongs to ${sayUser(owner, system)}: sudo chown ${me} ${path}`;
  }
  const you = self === null ? '' : `, and you are ${sayUser(self, system)}`;
  const name = findUserName(owner, system) ?? `'#${owner}'`;
  return (
    `${path} belongs to ${sayUser(owner, system)}${you}: you may not use it. ` +
    `Run the command as that user (sudo -u ${name} …), or name another folder with --data.`
  );
}

function isMine(folder: string, system: FolderSystem): boolean {
  return findFacts(folder, system)?.uid === system.userId;
}

function sayUser(id: number, system: FolderSystem): string {
  const name = findUserName(id, system);
  return name === null ? `the user with the id ${id}` : `the user "${name}" (id ${id})`;
}

const USERS_FILE = '/etc/passwd';

/** Node does not know who a number is. `null`: neither does the list of this machine. */
function findUserName(id: number, { fs }: FolderSystem): string | null {
  if (!fs.existsSync(USERS_FILE)) return null;
  const users = fs.readFileSync(USERS_FILE, 'utf8').split('\n');
  const found = users.map((line) => line.split(':')).find(([, , uid]) => uid === String(id));
  return found?.[0] ?? null;
}
