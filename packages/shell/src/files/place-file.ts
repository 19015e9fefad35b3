interface FileKind {
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

/** Of `node:fs` and `node:path`, passed in by the caller. */
interface PlaceSystem {
  readonly fs: {
    existsSync(path: string): boolean;
    lstatSync(path: string, options: { readonly throwIfNoEntry: false }): FileKind | undefined;
    linkSync(from: string, to: string): void;
    renameSync(from: string, to: string): void;
    unlinkSync(path: string): void;
    openSync(path: string, flags: string): number;
    fsyncSync(handle: number): void;
    closeSync(handle: number): void;
  };
  readonly path: { dirname(path: string): string };
  readonly platform: string;
}

/**
 * Gives a finished and synced draft its name, durably. Unless `replaces`, a file that has the name already
 * stays, and this throws an error with the code EEXIST. A device is never replaced.
 */
export function placeFile(system: PlaceSystem, draft: string, file: string, replaces: boolean): void {
  const { fs, path } = system;
  if (replaces) refuseDevice(system, file);
  if (replaces || !linkNew(system, draft, file)) fs.renameSync(draft, file);
  else fs.unlinkSync(draft);
  syncFolder(system, path.dirname(file));
}

/** To root, a rename would give /dev/null to the backup. */
function refuseDevice({ fs }: PlaceSystem, file: string): void {
  const found = fs.lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined || found.isFile() || found.isDirectory() || found.isSymbolicLink()) return;
  const reason = 'it is a device or another special file. Give the path of a file';
  throw Object.assign(new Error(reason), { syscall: 'rename' });
}

/** `false`: this file system has no links. */
function linkNew({ fs }: PlaceSystem, draft: string, file: string): boolean {
  try {
    fs.linkSync(draft, file);
    return true;
  } catch (error) {
    const isTaken = (error as { readonly code?: string }).code === 'EEXIST' || fs.existsSync(file);
    if (isTaken) throw Object.assign(new Error(`${file} exists already.`), { code: 'EEXIST' });
    return false;
  }
}

/** Makes the names in a folder durable. Windows does not support or need this. */
function syncFolder({ fs, platform }: PlaceSystem, folder: string): void {
  if (platform === 'win32') return;
  const handle = fs.openSync(folder, 'r');
  try {
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
}
