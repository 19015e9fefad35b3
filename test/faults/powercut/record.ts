/** What a recorded process did, in order: the disk and the answers, as `shim.c` writes them. */
export type Happening =
  | { readonly kind: 'create'; readonly inode: number; readonly path: string; readonly isFolder: boolean }
  | { readonly kind: 'write'; readonly inode: number; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly inode: number; readonly size: number }
  | { readonly kind: 'rename' | 'link'; readonly inode: number; readonly from: string; readonly to: string }
  | { readonly kind: 'unlink'; readonly path: string }
  | { readonly kind: 'sync'; readonly inode: number; readonly hasFailed: boolean }
  | MessageStart;

/** A request has arrived, or the first bytes of an answer leave; port 0 is the standard output. */
interface MessageStart {
  readonly kind: 'request' | 'answer';
  readonly process: number;
  readonly port: number;
}

const HEAD_BYTES = 32;
const KINDS = [
  'create',
  'write',
  'truncate',
  'rename',
  'unlink',
  'link',
  'sync',
  'answer',
  'request',
] as const;
const REQUEST = /^(GET|POST) /;
const ANSWER = /^HTTP\/1\.1 [2-5]/;

/** Reads a log. Paths are relative to the root, which itself is "". */
export function readRecord(log: Buffer, root: string): readonly Happening[] {
  const all: Happening[] = [];
  for (let at = 0; at + HEAD_BYTES <= log.length; ) {
    const pathLength = log.readUInt16LE(at + 2);
    const dataLength = log.readUInt32LE(at + 4);
    const pathAt = at + HEAD_BYTES;
    const dataAt = pathAt + pathLength;
    const end = dataAt + dataLength;
    if (end > log.length) break;
    const paths = log.toString('utf8', pathAt, dataAt).split('\0');
    const found = readOne(
      log.subarray(at, pathAt),
      paths.map((path) => relativeTo(root, path)),
      log.subarray(dataAt, end),
    );
    if (found !== null) all.push(found);
    at = end;
  }
  return all;
}

function relativeTo(root: string, path: string): string {
  return path.slice(root.length + 1).replace(/\/+/g, '/');
}

function readOne(head: Buffer, [path = '', to = '']: readonly string[], bytes: Buffer): Happening | null {
  const kind = KINDS[head.readUInt8(0) - 1];
  const flag = head.readUInt8(1) === 1;
  const inode = Number(head.readBigUInt64LE(16));
  const number = Number(head.readBigUInt64LE(24));
  switch (kind) {
    case 'create':
      return { kind, inode, path, isFolder: flag };
    case 'write':
      return { kind, inode, at: number, bytes };
    case 'truncate':
      return { kind, inode, size: number };
    case 'rename':
    case 'link':
      return { kind, inode, from: path, to };
    case 'unlink':
      return { kind, path };
    case 'sync':
      return { kind, inode, hasFailed: flag };
    case 'answer':
    case 'request': {
      const isStart = (kind === 'answer' ? ANSWER : REQUEST).test(bytes.toString('latin1'));
      return isStart || number === 0 ? { kind, process: head.readUInt32LE(8), port: number } : null;
    }
    default:
      throw new Error(`The record has an unknown kind: ${head.readUInt8(0)}.`);
  }
}
