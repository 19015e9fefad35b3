import { existsSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { formatFacts, formatTable } from '@berth/shell/console/console-text';
import type { CallOf } from '@berth/shell/console/hints';
import { type BackupFacts, readBackup } from '@berth/shell/files/backup-file';
import { placeFile } from '@berth/shell/files/place-file';
import type { AdminAnswer, AdminClient } from '../admin-client.ts';
import { type Command, defineCommand, type Flags, type LocalContext, type Restored } from '../command.ts';
import { cannot, readBytes } from '../files.ts';
import { InputError } from '../read-secrets.ts';

/** Backup and restore. */
export const BACKUP_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'backup',
    arguments: ['FILE'],
    usage: '[--passphrase-file FILE] [--replace]',
    about: 'write all data to one file while the server works; a passphrase includes the master key',
    ask: askBackup,
    show: showBackup,
  }),
  defineCommand({
    words: 'restore',
    arguments: ['FILE'],
    usage: '[--passphrase-file FILE | --master-key-file FILE]',
    about: 'replace the data with that of a backup; the server must be stopped',
    local: runRestore,
    show: showRestored,
  }),
];

interface SavedBackup extends Pick<BackupFacts, 'made_at' | 'key_fingerprint'> {
  readonly saved_as: string;
  /** The length of the file. */
  readonly bytes: number;
  readonly includes_key: boolean;
}

/** The file gets its name once it is complete, checked and on disk. */
async function askBackup(
  client: AdminClient,
  [file = '']: readonly string[],
  flags: Flags,
): Promise<AdminAnswer<SavedBackup>> {
  const replaces = flags.replace === true;
  if (!replaces && existsSync(file)) throw exists(file);
  const passphrase = readPassphrase(flags);
  const part = `${file}.${process.pid}.part`;
  const output = await open(part, 'wx', 0o600).catch(cannot('written', file));
  try {
    const body = passphrase === null ? {} : { passphrase };
    const take = (chunk: Uint8Array) => output.appendFile(chunk).catch(cannot('written', file));
    const answer = await client.downloadPost('/api/admin/backup', body, take);
    if (!answer.ok) return answer;
    await output.sync().catch(cannot('written', file));
    const { facts } = readBackup(part, () => {});
    place(part, file, replaces);
    const { size } = await output.stat();
    return { ok: true, body: present(file, size, facts) };
  } finally {
    await output.close();
    await rm(part, { force: true });
  }
}

function present(file: string, bytes: number, facts: BackupFacts): SavedBackup {
  const { made_at, key_fingerprint, sealed_keys } = facts;
  return { saved_as: resolve(file), made_at, bytes, key_fingerprint, includes_key: sealed_keys !== null };
}

function place(part: string, file: string, replaces: boolean): void {
  try {
    placeFile(part, file, replaces);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw exists(file);
    cannot('written', file)(error);
  }
}

function exists(file: string): InputError {
  return new InputError(`${file} already exists. Choose another name, or replace it with --replace.`);
}

/** The first line of the file; `null`: none is given. */
function readPassphrase({ 'passphrase-file': file }: Flags): string | null {
  if (file === undefined) return null;
  const [line = ''] = readBytes(file).toString('utf8').split(/\r?\n/);
  if (line === '') throw new InputError(`${file} has no passphrase in its first line.`);
  return line;
}

function showBackup(
  { saved_as, made_at, bytes, key_fingerprint, includes_key }: SavedBackup,
  callOf: CallOf,
) {
  const facts = formatFacts({ file: saved_as, 'made at': made_at, bytes, 'master key': key_fingerprint });
  const key = includes_key
    ? 'It contains the master key, sealed with the passphrase. Keep the passphrase elsewhere.'
    : `It does not contain the master key: "${callOf('key export --out FILE')}" saves that.`;
  return `Everything was saved and checked.\n${facts}\n${key}`;
}

async function runRestore({ words: [file = ''], flags, restoreBackup }: LocalContext) {
  const keyFile = flags['master-key-file'] ?? null;
  const restored = await restoreBackup({ file, passphrase: readPassphrase(flags), keyFile });
  return { ok: true, body: restored } as const;
}

function showRestored(restored: Restored, callOf: CallOf): string {
  const { made_at, made_by, restored_to, audit, kept } = restored;
  const facts = formatFacts({
    'backup of': `${made_at}, by version ${made_by}`,
    'restored to': restored_to,
    'audit log': `intact: ${audit.events} events in ${audit.links} links of ${audit.chains} chains`,
    ...(kept.length === 0 ? {} : { 'kept the old data as': kept.join(', ') }),
  });
  const parts = [
    `Everything was restored and checked.\n${facts}`,
    showGap(restored),
    formatLost(
      'Licenses in the backup that were given back to the vendor since, and stay so',
      ['license_id', 'product'],
      restored.given_back,
    ),
    showUncertain(restored, callOf),
    showLeftOut(restored, callOf),
    showPaused(restored, callOf),
    showHardware(restored),
    'Start the server.',
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function showGap({ made_at, replaced_at, replaced_other_server, lost }: Restored): string {
  if (replaced_other_server) return 'The data that was replaced is of another server.';
  if (lost === null || replaced_at === null) {
    return (
      `What happened after ${made_at} is not known: there was no older data to compare with. Slots ` +
      'borrowed since then can be lent again, and consumption counted since then is not in the totals.'
    );
  }
  const total = lost.licenses.length + lost.borrows.length + lost.counts.length;
  const since = `between ${made_at} and ${replaced_at}`;
  if (total === 0) return `No borrow and no count was lost ${since}.`;
  const tables = [
    formatLost('Licenses that were added', ['license_id', 'product'], lost.licenses),
    formatLost('Borrows', ['license_id', 'product', 'feature', 'user', 'borrowed_until'], lost.borrows),
    formatLost('Counts', ['license_id', 'product', 'feature', 'count'], lost.counts),
  ];
  return `The backup lacks what happened ${since}:\n${tables.filter((table) => table !== '').join('\n')}`;
}

function formatLost<Row extends object>(
  title: string,
  columns: readonly (keyof Row & string)[],
  rows: readonly Row[],
): string {
  if (rows.length === 0) return '';
  const heading = columns.map((name) => name.replace('license_id', 'license').replace('_', ' '));
  return `${title}:\n${formatTable(
    heading,
    rows.map((row) => columns.map((name) => row[name])),
  )}`;
}

function showUncertain({ uncertain_reports: count }: Restored, callOf: CallOf): string {
  if (count === 0) return '';
  return (
    `${count} amounts of consumption were not reported when the backup was made, and may have been since. ` +
    `They are not sent again: "${callOf('report list')}" shows them, and you settle each.`
  );
}

const CALLED: Readonly<Record<string, string>> = {
  'backup.schedule': 'The schedule of backups',
  'webhooks.url': 'The webhook',
  'syslog.url': 'The syslog receiver',
};

function showLeftOut({ settings_left_out: settings }: Restored, callOf: CallOf): string {
  return settings
    .map(({ name, value }) => {
      const again = callOf(`config set ${name} VALUE`);
      return `${CALLED[name]} was not taken over: it was ${value}. "${again}" sets it again.`;
    })
    .join('\n');
}

function showPaused({ channels_paused: names }: Restored, callOf: CallOf): string {
  if (names.length === 0) return '';
  return `No messages are sent by ${names.join(', ')}. "${callOf('notify resume NAME')}" sends them again.`;
}

function showHardware({ hardware_id_before: before }: Restored): string {
  if (before === null) return '';
  return (
    `On this machine the server has a different hardware id (it was ${before}). Licenses from the cloud ` +
    'lend for seven days while they are activated here; licenses from files and codes lend no new slots ' +
    '(server_identity_changed) until the vendor moves them. docs/backup.md says what to do.'
  );
}
