import { readFile, stat } from 'node:fs/promises';
import { errorCode, readFileVersion } from './file-version.ts';

/** What was found at a path. */
export type Content =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly reason: string };

/**
 * A file that somebody else writes while the server runs. Nobody waits for the disk that it is on: it may be
 * one that hangs.
 */
export interface WatchedFile {
  readonly path: string;
  /** What is there now. */
  read(): Promise<Content>;
  /**
   * What is there, once for each version of it; `null` when nothing is new. A version is taken when two looks
   * in a row have found it: an editor that empties a file before it writes, or puts it away for a moment, is
   * not at work then.
   */
  look(): Promise<Content | null>;
  /** The version that is there now is a new one again. */
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
      taken = version;
      return read();
    },
    forget() {
      taken = null;
    },
  };
}

async function readContent(path: string, maxBytes: number): Promise<Content> {
  try {
    const facts = await stat(path);
    // A pipe would be read for ever.
    if (!facts.isFile()) return { kind: 'unreadable', reason: 'it is no file' };
    if (facts.size > maxBytes) {
      return { kind: 'unreadable', reason: `it is larger than ${maxBytes} bytes` };
    }
    return { kind: 'text', text: await readFile(path, 'utf8') };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { kind: 'absent' };
    return { kind: 'unreadable', reason: (error as Error).message };
  }
}
