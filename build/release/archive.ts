import { crc32, deflateRawSync, gzipSync } from 'node:zlib';

/** A file in an archive. All belong to root, and all have the time of the release. */
export interface ArchivedFile {
  readonly path: string;
  readonly content: Uint8Array;
  /** 0644 unless it says otherwise. */
  readonly mode?: number;
  /** The target of a symbolic link, which has no content. */
  readonly link?: string;
}

const BLOCK = 512;
const FOLDER_MODE = 0o755;
const FILE_MODE = 0o644;
const LINK_MODE = 0o777;

/** A compressed tar archive (ustar) with the folders of its files: the same files give the same bytes. */
export function writeTarGz(files: readonly ArchivedFile[], epoch: number, root = ''): Buffer {
  return gzipSync(writeTar(files, epoch, root), { level: 6 });
}

/** `root` is put before every path: `./` in Debian packages. */
function writeTar(files: readonly ArchivedFile[], epoch: number, root: string): Buffer {
  const folders = new Set(files.flatMap(({ path }) => listFolders(path)));
  const parts = [...folders].map((path) => ({ path: `${path}/`, blocks: [writeFolder(root + path, epoch)] }));
  for (const file of files) {
    const { content, link, mode = link === undefined ? FILE_MODE : LINK_MODE } = file;
    const kind = link === undefined ? '0' : '2';
    const header = writeHeader({ path: root + file.path, size: content.length, mode, epoch, kind, link });
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
  readonly kind: '0' | '2' | '5';
  readonly link?: string | undefined;
}

/** The fields of a ustar header, with their places. */
function writeHeader({ path, size, mode, epoch, kind, link = '' }: Header): Buffer {
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
  header.write(link, 157);
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

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_OF_ZIP = 0x06054b50;
const ZIP_VERSION = 20;
const MADE_ON_UNIX = 3 << 8;
const DEFLATED = 8;

/** A zip archive, which Windows opens by itself. */
export function writeZip(files: readonly ArchivedFile[], epoch: number): Buffer {
  const locals: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const { path, content, mode = FILE_MODE } of files) {
    const packed = deflateRawSync(content, { level: 6 });
    const facts = numbers([
      [ZIP_VERSION, 2],
      [0, 2],
      [DEFLATED, 2],
      [zipTime(epoch), 4],
      [crc32(content), 4],
      [packed.length, 4],
      [content.length, 4],
      [Buffer.byteLength(path), 2],
      [0, 2],
    ]);
    const name = Buffer.from(path);
    locals.push(numbers([[LOCAL_HEADER, 4]]), facts, name, packed);
    // No comment, first disk, no text; the mode in the upper half.
    const rest = numbers([[0, 2], [0, 2], [0, 2], [((0o100000 | mode) << 16) >>> 0, 4], [offset, 4]]); // biome-ignore format: one entry
    entries.push(
      numbers([
        [CENTRAL_HEADER, 4],
        [ZIP_VERSION | MADE_ON_UNIX, 2],
      ]),
      facts,
      rest,
      name,
    );
    offset += 4 + facts.length + name.length + packed.length;
  }
  const central = Buffer.concat(entries);
  const end = numbers([
    [END_OF_ZIP, 4],
    [0, 4],
    [files.length, 2],
    [files.length, 2],
    [central.length, 4],
    [offset, 4],
    [0, 2],
  ]);
  return Buffer.concat([...locals, central, end]);
}

/** Numbers with their sizes in bytes, the lowest byte first. */
function numbers(values: readonly (readonly [value: number, bytes: number])[]): Buffer {
  const buffer = Buffer.alloc(values.reduce((sum, [, bytes]) => sum + bytes, 0));
  let at = 0;
  for (const [value, bytes] of values) at = buffer.writeUIntLE(value, at, bytes);
  return buffer;
}

/** Two seconds are the smallest unit. */
function zipTime(epoch: number): number {
  const time = new Date(epoch * 1000);
  const date = ((time.getUTCFullYear() - 1980) << 9) | ((time.getUTCMonth() + 1) << 5) | time.getUTCDate();
  const clock = (time.getUTCHours() << 11) | (time.getUTCMinutes() << 5) | (time.getUTCSeconds() >> 1);
  return ((date << 16) | clock) >>> 0;
}
