/** Who else on the machine can get at a file or folder that only one account should have. */
export interface SharedFile {
  readonly path: string;
  readonly isFolder: boolean;
  /** What is in it, if it is a folder. */
  readonly names: readonly string[];
  /** As `stat` tells it. */
  readonly mode: number;
  readonly owner: number;
}

/** The process that asks. */
interface FileUser {
  /** `null`: the system has no such thing as the owner of a file. */
  readonly id: number | null;
  /** There nobody else is on the machine, and volumes often belong to a group made for the container. */
  readonly isContainer: boolean;
}

const ROOT = 0;

const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;
const GROUP_READS = 0o040;
const OTHERS_READ = 0o004;

/** Why the file must not be used: somebody else can change it. `null`: nobody can. */
export function explainWritable(file: SharedFile, user: FileUser): string | null {
  if (user.id === null) return null;
  const { path, owner } = file;
  if (![ROOT, user.id].includes(owner) && user.id !== ROOT) {
    return (
      `${path} belongs to another user of this machine (id ${owner}), who can change everything in it. Run ` +
      `as that user, or make it yours: chown -R ${user.id} ${path}`
    );
  }
  if (!allows(file, user, GROUP_WRITES, OTHERS_WRITE)) return null;
  return sayShared(file, 'write to');
}

/** What somebody else can read; `null`: nothing. In a container there is nobody else. */
export function explainReadable(file: SharedFile, user: FileUser): string | null {
  if (user.id === null || user.isContainer) return null;
  if (!allows(file, user, GROUP_READS, OTHERS_READ)) return null;
  return sayShared(file, 'read');
}

function allows({ mode }: SharedFile, { isContainer }: FileUser, group: number, others: number): boolean {
  return (mode & (isContainer ? others : group | others)) !== 0;
}

function sayMode({ mode }: SharedFile): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}

function sayShared(file: SharedFile, verb: string): string {
  const problem = `Other users of this machine can ${verb} ${file.path} (mode ${sayMode(file)})`;
  const reason = findOtherUse(file);
  if (reason !== null) return `${problem}, and ${reason}. ${sayOther(file)}`;
  return `${problem}. Take that away: chmod ${file.isFolder ? 700 : 600} ${file.path}`;
}

function sayOther({ isFolder }: SharedFile): string {
  return isFolder ? 'Name another folder with --data.' : 'Name another file.';
}

const FILE_TYPE = 0o170000;
const REGULAR_FILE = 0o100000;
const STICKY = 0o1000;
/** What the server or the cloud keeps in its folder, or what a new disk or its administrator puts there. */
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

/** Why nobody should change the mode: others need the file as it is. `null`: it is there for us. */
function findOtherUse({ path, isFolder, mode, names }: SharedFile): string | null {
  if (!isFolder) return (mode & FILE_TYPE) === REGULAR_FILE ? null : 'it is no regular file';
  if (path === '/') return 'it is the root of the file system';
  if ((mode & STICKY) !== 0) return 'it is there for all of them';
  return names.length === 0 || names.some((name) => OURS.has(name))
    ? null
    : 'it holds files of something else';
}

const CONTAINER_FILES = ['/.dockerenv', '/run/.containerenv', '/var/run/secrets/kubernetes.io'];
const CONTAINER_GROUP = /docker|kubepods|containerd|libpod|lxc/;

/** What can be asked of a file system. */
interface Files {
  exists(path: string): boolean;
  /** `null`: it cannot be read. */
  read(path: string): string | null;
}

/** Whether the process runs in a container, as far as anything tells. */
export function isContainer(env: Readonly<Record<string, string | undefined>>, files: Files): boolean {
  if (env.container !== undefined || env.KUBERNETES_SERVICE_HOST !== undefined) return true;
  if (CONTAINER_FILES.some((file) => files.exists(file))) return true;
  return CONTAINER_GROUP.test(files.read('/proc/1/cgroup') ?? '');
}
