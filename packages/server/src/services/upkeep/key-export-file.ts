import { closeSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { explainFileError } from '@berth/protocol/files/explain-file-error';
import { syncFolder } from '../../secrets/durable-file.ts';
import { openExport } from '../../secrets/key-export.ts';
import { fingerprint, SealError } from '../../secrets/seal.ts';

/** A new file that is to hold an export of the master key. */
interface KeyExportFile {
  /** Writes the export, and opens what it has written. Returns the fingerprint of the key in it. */
  fill(text: string, passphrase: string): Promise<string>;
  /** Leaves nothing behind. */
  discard(): void;
}

/** For nobody but its owner. It never replaces a file: that may be the only copy of another key. */
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
    throw new SealError(`${file} exists already. Name another file, or move that one away.`);
  }
}
