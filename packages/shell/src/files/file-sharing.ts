import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';

/** Checks which other users of the machine can access a private file or folder. */
interface SharedFile {
  readonly path: string;
  readonly isFolder: boolean;
  /** The entries of a folder. */
  readonly names: readonly string[];
  /** From `stat`. */
  readonly mode: number;
  readonly owner: number;
}

/** The current process. */
interface FileUser {
  /** `null` if the system has no file owners. */
  readonly id: number | null;
  /** The volumes of a container often belong to a group made for it. */
  readonly isContainer: boolean;
}

const ROOT = 0;

/** The first problem that `explain` finds with these files, and what to do about it; `null`: none. */
export function explainSharing(
  paths: readonly string[],
  env: Environment,
  explain: typeof explainWritable,
): string | null {
  const user = { id: process.getuid?.() ?? null, isContainer: isContainer(env) };
  const sentences = paths.filter((path) => existsSync(path)).map((path) => explain(statFile(path), user));
  return sentences.find((sentence) => sentence !== null) ?? null;
}

function statFile(path: string): SharedFile {
  const stats = statSync(path);
  const isFolder = stats.isDirectory();
  return { path, isFolder, names: isFolder ? listNames(path) : [], mode: stats.mode, owner: stats.uid };
}

/** `explainFolder` reports a folder that cannot be read. */
function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;
const GROUP_READS = 0o040;
const OTHERS_READ = 0o004;

/** Explains that another user can change the file; `null` if none can. */
export function explainWritable(file: SharedFile, user: FileUser): string | null {
  if (user.id === null) return null;
  const { path, owner } = file;
  if (![ROOT, user.id].includes(owner) && user.id !== ROOT) {
    return (
      `${path} belongs to another user of this machine (id ${owner}), who can change everything in it. Run ` +
      `as that user, or take ownership: chown -R ${user.id} ${path}`
    );
  }
  if (!allows(file, user, GROUP_WRITES, OTHERS_WRITE)) return null;
  return sayShared(file, 'write to');
}

/** Explains what other users can read; `null` if nothing. A container gets files of others as they are. */
export function explainReadable(file: SharedFile, user: FileUser): string | null {
  if (user.id === null || (user.isContainer && file.owner !== user.id)) return null;
  if (!allows(file, user, GROUP_READS, OTHERS_READ)) return null;
  return sayShared(file, 'read');
}

/** Explains that all users can change a file which steers the program; `null` if they cannot. */
export function explainOpen(file: Pick<SharedFile, 'path' | 'mode'>, user: Pick<FileUser, 'id'>) {
  const isOpen = (file.mode & OTHERS_WRITE) !== 0 && (file.mode & FILE_TYPE) === REGULAR_FILE;
  if (user.id === null || !isOpen) return null;
  const problem = `All users of this machine can write to ${file.path} (mode ${sayMode(file)})`;
  return `${problem}. Remove that access: chmod o-w ${file.path}`;
}

/** The same of the first of these files, but not in a container, which gets its files as they are. */
export function refuseOpen(paths: readonly string[], env: Environment): string | null {
  return isContainer(env) ? null : explainSharing(paths, env, explainOpen);
}

function allows({ mode }: SharedFile, { isContainer }: FileUser, group: number, others: number): boolean {
  return (mode & (isContainer ? others : group | others)) !== 0;
}

function sayMode({ mode }: Pick<SharedFile, 'mode'>): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}

function sayShared(file: SharedFile, verb: string): string {
  const problem = `Other users of this machine can ${verb} ${file.path} (mode ${sayMode(file)})`;
  const reason = findOtherUse(file);
  if (reason !== null) return `${problem}, and ${reason}. ${sayOther(file)}`;
  return `${problem}. Remove that access: chmod ${file.isFolder ? 700 : 600} ${file.path}`;
}

function sayOther({ isFolder }: SharedFile): string {
  return isFolder ? 'Choose another folder with --data.' : 'Choose another file.';
}

const FILE_TYPE = 0o170000;
const REGULAR_FILE = 0o100000;
const STICKY = 0o1000;
/** What the server or the cloud keeps in its folder, or what a new disk or an administrator puts there. */
const OURS = new Set([
  'berth.db',
  'berth.lock',
  'berth.yaml',
  'rules.yaml',
  'master.key',
  'cloud.db',
  'signing-key.pem',
  'lost+found',
]);

/** Why the mode must not change: other programs need the file as it is. `null` if it is ours. */
function findOtherUse({ path, isFolder, mode, names }: SharedFile): string | null {
  if (!isFolder) return (mode & FILE_TYPE) === REGULAR_FILE ? null : 'it is not a regular file';
  if (path === '/') return 'it is the root of the file system';
  if ((mode & STICKY) !== 0) return 'all users share it';
  return names.length === 0 || names.some((name) => OURS.has(name))
    ? null
    : 'it contains files of other programs';
}

const CONTAINER_FILES = ['/.dockerenv', '/run/.containerenv', '/var/run/secrets/kubernetes.io'];
const CONTAINER_GROUP = /docker|kubepods|containerd|libpod|lxc/;

type Environment = Readonly<Record<string, string | undefined>>;

const FILES = { exists: existsSync, read: readText };

/** Whether the process appears to run in a container. */
export function isContainer(env: Environment, files: typeof FILES = FILES): boolean {
  if (env.container !== undefined || env.KUBERNETES_SERVICE_HOST !== undefined) return true;
  if (CONTAINER_FILES.some((file) => files.exists(file))) return true;
  return CONTAINER_GROUP.test(files.read('/proc/1/cgroup') ?? '');
}

/** Returns null if the file cannot be read. */
export function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
