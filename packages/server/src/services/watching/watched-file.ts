import { readFile, stat } from 'node:fs/promises';
import { refuseOpen } from '@berth/shell/files/file-sharing';

/** The content found at a path. */
export type Content =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly reason: string };

/**
 * A file that may change while the server runs. Nothing waits for its disk, which may hang.
 */
export interface WatchedFile {
  readonly path: string;
  /** The current content. */
  read(): Promise<Content>;
  /**
   * The content, once per version; `null` if nothing is new. A version counts once two reads in a row have
   * found it, because an editor may empty or move a file before it writes.
   */
  look(): Promise<Content | null>;
  /** Reports the current version again. */
  forget(): void;
}

export function watchFile(path: string, maxBytes: number): WatchedFile {
  let seen: string | null = null;
  let taken: string | null = null;
  const read = () => readContent(path, maxBytes);
  return {
    path,
    read,
    async look() {
      const version = await readFileVersion(path);
      const isSettled = version === seen;
      seen = version;
      if (!isSettled || version === taken) return null;
      const content = await read();
      // It may have been replaced in between: what was read is then not the version that was found.
      if ((await readFileVersion(path)) !== version) return null;
      taken = version;
      return content;
    },
    forget() {
      taken = null;
    },
  };
}

async function readContent(path: string, maxBytes: number): Promise<Content> {
  try {
    const facts = await stat(path);
    // Reading a pipe would never end.
    if (!facts.isFile()) return { kind: 'unreadable', reason: 'it is not a regular file' };
    if (facts.size > maxBytes) {
      return { kind: 'unreadable', reason: `it is larger than ${maxBytes} bytes` };
    }
    const open = refuseOpen([path], process.env);
    if (open !== null) return { kind: 'unreadable', reason: open };
    return { kind: 'text', text: await readFile(path, 'utf8') };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { kind: 'absent' };
    return { kind: 'unreadable', reason: (error as Error).message };
  }
}

/**
 * Identifies a version of a file: another file with the same name is another version, even with the same size
 * and time. A missing file is a version, too.
 */
export async function readFileVersion(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join('/');
  } catch (error) {
    return errorCode(error);
  }
}

function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
