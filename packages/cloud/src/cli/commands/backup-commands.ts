import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { formatFacts, formatTable } from '@berth/shell/console/console-text';
import { BackupError, type BackupFacts } from '@berth/shell/files/backup-file';
import { explainFileError } from '@berth/shell/files/explain-file-error';
import manifest from '../../../package.json' with { type: 'json' };
import { type RestoredCloud, restoreCloud, writeBackup } from '../../store/backup.ts';
import { prepareFolder } from '../../store/data-folder.ts';
import type { Call, Command, Flags } from '../command.ts';

type Facts = Readonly<Record<string, unknown>>;

export const BACKUP_COMMANDS: readonly Command[] = [
  {
    words: 'backup',
    arguments: ['FILE'],
    usage: '[--passphrase-file FILE] [--replace]',
    about: 'write all data to one file while the cloud runs; a passphrase includes its keys',
    run: runBackup,
    show: ({ saved_as: file, made_at, bytes, includes_keys: hasKeys }: Facts) => {
      const keys = hasKeys
        ? 'It contains the keys, sealed with the passphrase. Keep the passphrase elsewhere.'
        : 'It does not contain the keys (signing-key*.pem, airgap-key.pem): keep copies of them elsewhere.';
      const facts = formatFacts({ file, 'made at': made_at, bytes });
      return `Everything was saved and checked.\n${facts}\n${keys}`;
    },
  },
];

export const RESTORE_USAGE = {
  words: 'restore',
  arguments: ['FILE'],
  usage: '[--passphrase-file FILE]',
  about: 'replace the data with that of a backup; the cloud must be stopped',
} as const;

async function runBackup({ store, keyRing, airgapKey, words: [file = ''], flags, now }: Call) {
  const facts = await writeBackup(store, {
    keyRing,
    airgapKey,
    file,
    replaces: flags.replace === true,
    passphrase: readPassphrase(flags),
    version: manifest.version,
    now,
  });
  const { made_at, sealed_keys } = facts;
  const { size: bytes } = statSync(file);
  return { saved_as: resolve(file), made_at, bytes, includes_keys: sealed_keys !== null };
}

/** The first line of the file; `null`: none is given. */
function readPassphrase({ 'passphrase-file': file }: Flags): string | null {
  if (file === undefined) return null;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new BackupError(explainFileError(file, error, 'read'));
  }
  const [line = ''] = text.split(/\r?\n/);
  if (line === '') throw new BackupError(`${file} has no passphrase in its first line.`);
  return line;
}

export async function runRestore(folder: string, [file = '']: readonly string[], flags: Flags, now: number) {
  prepareFolder(folder);
  const restored = await restoreCloud({ folder, file, passphrase: readPassphrase(flags), now });
  return presentRestored(folder, restored);
}

function presentRestored(folder: string, { facts, kept, lost }: RestoredCloud) {
  const { made_at, made_by }: BackupFacts = facts;
  const events = lost?.map(({ at, kind, licenseKey }) => ({
    at: new Date(at).toISOString(),
    kind,
    license_key: licenseKey,
  }));
  return { made_at, made_by, restored_to: folder, kept, lost: events ?? null };
}

export function showRestored({
  made_at,
  made_by,
  restored_to,
  kept,
  lost,
}: Awaited<ReturnType<typeof runRestore>>) {
  const facts = formatFacts({
    'backup of': `${made_at}, by version ${made_by}`,
    'restored to': restored_to,
    ...(kept === null ? {} : { 'kept the old data as': kept }),
  });
  return `Everything was restored and checked.\n${facts}\n\n${showLost(made_at, lost)}\n\nStart the cloud.`;
}

function showLost(madeAt: string, lost: readonly Facts[] | null): string {
  if (lost === null) {
    const unknown = `What happened after ${madeAt} is not known: there was no older data to compare with.`;
    return `${unknown}\n\n${SELL_AGAIN}`;
  }
  if (lost.length === 0) return `Nothing has happened since ${madeAt}.`;
  const rows = lost.map(({ at, kind, license_key }) => [at, kind, license_key]);
  const table = formatTable(['at', 'event', 'license key'], rows);
  return `The backup lacks what happened after ${madeAt}:\n${table}\n\n${SELL_AGAIN}`;
}

const SELL_AGAIN =
  'Create again each license that was sold since, with its key ("license create --key KEY"). Customers\n' +
  'then add that key on their server again: see docs/vendors.md, "After a restore".';
