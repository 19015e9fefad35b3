import { closeSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder } from '@berth/shell/files/durable-file';
import { explainFileError } from '@berth/shell/files/explain-file-error';
import { openExport } from '../../secrets/key-export.ts';
import { fingerprint, SealError } from '../../secrets/seal.ts';

/** A new file for an export of the master key. */
interface KeyExportFile {
  /** Writes the export and verifies it by opening it. Returns the fingerprint of the key. */
  fill(text: string, passphrase: string): Promise<string>;
  /** Removes the file. */
  discard(): void;
}

/** Only the owner can read it. It never replaces a file, which may be the only copy of another key. */
export function createKeyExportFile(file: string): KeyExportFile {
  const handle = openNew(file);
  let isOpen = true;
  const close = () => {
    if (isOpen) closeSync(handle);
    isOpen = false;
  };
  return {
    async fill(text, passphrase) {
      try {
        writeSync(handle, text);
        fsyncSync(handle);
        close();
        syncFolder(dirname(file));
        return fingerprint((await openExport(readFileSync(file, 'utf8'), passphrase)).masterKey);
      } catch (error) {
        throw new SealError(`The export in ${file} could not be written: ${(error as Error).message}`);
      }
    },
    discard() {
      close();
      rmSync(file, { force: true });
    },
  };
}

function openNew(file: string): number {
  try {
    return openSync(file, 'wx', 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST') throw new SealError(explainFileError(file, error, 'written'));
    throw new SealError(`${file} already exists. Choose another file, or move that one.`);
  }
}
