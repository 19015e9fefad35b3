import { accessSync, constants, readFileSync } from 'node:fs';
import { explainFileError } from '@berth/shell/files/explain-file-error';
import { refuseOpen } from '@berth/shell/files/file-sharing';
import { createPrivateFolder } from '@berth/shell/files/folder-access';
import { MIN_PASSPHRASE_LENGTH } from '@berth/shell/files/passphrase-seal';
import { Fault } from '../../core/nouns/fault.ts';

/** Creates the folder for backups. Throws and says what to do if the server cannot write to it. */
export function prepareFolder(folder: string, access: typeof accessSync = accessSync): void {
  try {
    createPrivateFolder(folder);
  } catch (error) {
    const message = (error as Error).message.replaceAll('--data', 'backup.folder');
    throw fail(`The folder ${folder} cannot be created: ${message}${adviseSystemd(folder, message)}`);
  }
  try {
    access(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    const reason = explainFileError(folder, error, 'written');
    throw fail(`The folder for backups cannot be used. ${reason}${adviseSystemd(folder, reason)}`);
  }
}

/** The unit that "berth service install" writes lets the server write only to folders that it names. */
function adviseSystemd(folder: string, reason: string): string {
  if (!/read-only/.test(reason)) return '';
  return (
    ` If systemd runs the server, allow the folder with "systemctl edit berth": the line ` +
    `"ReadWritePaths=${folder}" below "[Service]", and restart it.`
  );
}

/** The passphrase in the first line of a file. */
export function readPassphraseFile(file: string): string {
  const open = refuseOpen([file], process.env);
  if (open !== null) throw fail(open);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw fail(`"backup.passphraseFile" cannot be read. ${explainFileError(file, error, 'read')}`);
  }
  const [line = ''] = text.split(/\r?\n/);
  if (line.normalize('NFC').length >= MIN_PASSPHRASE_LENGTH) return line;
  throw fail(
    `The first line of ${file} has fewer than ${MIN_PASSPHRASE_LENGTH} characters. Write a passphrase ` +
      'into it, or remove "backup.passphraseFile".',
  );
}

function fail(message: string): Fault {
  return new Fault('store_unavailable', message);
}
