import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { explainFileError } from '@berth/shell/files/explain-file-error';
import { MAX_FILE_BYTES } from '../core/judge-request.ts';
import { ValueError } from '../core/read-values.ts';

/** A file given on the command line cannot be used; the message says why. */
export class FileError extends Error {}

/** Reads a file from a server. Files over the size limit are not read. */
export function readCarriedFile(path: string): string {
  const { size } = explained(path, 'read', () => statSync(path));
  if (size > MAX_FILE_BYTES) {
    throw new ValueError(`${path} has ${size} bytes; files of a server have at most ${MAX_FILE_BYTES}.`);
  }
  return readNamedFile(path);
}

export function readNamedFile(path: string): string {
  return explained(path, 'read', () => readFileSync(path, 'utf8'));
}

/** Writes the exact signed text, without a trailing newline, readable by the owner only. */
export function writeCarriedFile(path: string, text: string): void {
  explained(path, 'written', () => {
    writeFileSync(path, text, { mode: 0o600 });
    chmodSync(path, 0o600);
  });
}

function explained<T>(path: string, doing: 'read' | 'written', work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new FileError(explainFileError(path, error, doing));
  }
}
