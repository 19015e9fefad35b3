import { gzipSync } from 'node:zlib';

/** A file in an archive. All belong to root, and all have the time of the release. */
export interface ArchivedFile {
  readonly path: string;
  readonly content: Uint8Array;
  /** 0644 unless it says otherwise. */
  readonly mode?: number;
}

const BLOCK = 512;
const FOLDER_MODE = 0o755;
export const FILE_MODE = 0o644;

/** A compressed tar archive (ustar) with the folders of its files: the same files give the same bytes. */
export function writeTarGz(files: readonly ArchivedFile[], epoch: number, root = ''): Buffer {
  return gzipSync(writeTar(files, epoch, root), { level: 6 });
}

/** `root` is put before every path: `./` in Debian packages. */
function writeTar(files: readonly ArchivedFile[], epoch: number, root: string): Buffer {
  const folders = new Set(files.flatMap(({ path }) => listFolders(path)));
  const parts = [...folders].map((path) => ({ path: `${path}/`, blocks: [writeFolder(root + path, epoch)] }));
  for (const file of files) {
    const { content, mode = FILE_MODE } = file;
    const header = writeHeader({ path: root + file.path, size: content.length, mode, epoch, kind: '0' });
    parts.push({ path: file.path, blocks: [header, pad(content)] });
  }
  const sorted = parts.sort((one, other) => (one.path < other.path ? -1 : 1));
  const top = root === '' ? [] : [writeFolder(root.replace(/\/$/, ''), epoch)];
  return Buffer.concat([...top, ...sorted.flatMap(({ blocks }) => blocks), Buffer.alloc(2 * BLOCK)]);
}

function listFolders(path: string): readonly string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}

function writeFolder(path: string, epoch: number): Buffer {
  return writeHeader({ path: `${path}/`, size: 0, mode: FOLDER_MODE, epoch, kind: '5' });
}

interface Header {
  readonly path: string;
  readonly size: number;
  readonly mode: number;
  readonly epoch: number;
  readonly kind: '0' | '5';
}

/** The fields of a ustar header, with their places. */
function writeHeader({ path, size, mode, epoch, kind }: Header): Buffer {
  if (Buffer.byteLength(path) > 100) throw new Error(`The path ${path} is too long for a tar archive.`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, digits: number) =>
    header.write(value.toString(8).padStart(digits, '0'), at);
  header.write(path, 0);
  octal(mode, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(size, 124, 11);
  octal(epoch, 136, 11);
  header.write(kind, 156);
  header.write('ustar\u000000root', 257);
  header.write('root', 297);
  // The sum counts itself as spaces.
  header.fill(' ', 148, 156);
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  );
  header[154] = 0;
  return header;
}

function pad(content: Uint8Array): Buffer {
  return Buffer.concat([content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]);
}
