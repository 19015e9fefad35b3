import { existsSync, readFileSync } from 'node:fs';
import type { BackupFacts } from '@berth/shell/files/backup-file';
import { writeNewFile } from '@berth/shell/files/durable-file';
import { explainFileError } from '@berth/shell/files/explain-file-error';
import { openExport } from '../../secrets/key-export.ts';
import { settleNextKey, stageNextKey } from '../../secrets/key-rotation.ts';
import { type MasterKeySource, parseMasterKey, writeKeyFile } from '../../secrets/master-key.ts';
import { fingerprint, type MasterKey, SealError } from '../../secrets/seal.ts';

interface GivenKeys {
  /** Opens the key in the backup. */
  readonly passphrase: string | null;
  /** A file with the key itself. */
  readonly keyFile: string | null;
  /** Where the server looks for its key. */
  readonly source: MasterKeySource;
}

/** The master key of a backup, or throws and says which one is needed. It changes nothing. */
export async function findBackupKey(facts: BackupFacts, given: GivenKeys): Promise<MasterKey> {
  const needed = facts.key_fingerprint;
  const key = await openKey(facts, given);
  if (key === null) throw new SealError(`The backup needs the master key ${needed}. ${HOW_TO_GIVE}`);
  if (fingerprint(key) !== needed) {
    throw new SealError(
      `The backup needs the master key ${needed}, but this one is ${fingerprint(key)}. ${HOW_TO_GIVE}`,
    );
  }
  const { value } = given.source;
  const used = value === null ? null : fingerprint(parseMasterKey(value, 'BERTH_MASTER_KEY'));
  if (used === null || used === needed) return key;
  throw new SealError(
    `The backup needs the master key ${needed}, but BERTH_MASTER_KEY is ${used}. Set it to the right key, ` +
      'or unset it. Nothing was changed.',
  );
}

const HOW_TO_GIVE =
  'Give it with --master-key-file FILE or BERTH_MASTER_KEY, install an export of it with "berth key ' +
  'import FILE" first, or use --passphrase-file FILE if the backup was made with a passphrase. Nothing ' +
  'was changed.';

async function openKey(facts: BackupFacts, given: GivenKeys): Promise<MasterKey | null> {
  const { passphrase, keyFile, source } = given;
  if (passphrase !== null) return openIncluded(facts, passphrase);
  if (keyFile !== null) return parseMasterKey(readText(keyFile), keyFile);
  if (source.value !== null) return parseMasterKey(source.value, 'BERTH_MASTER_KEY');
  return existsSync(source.file) ? parseMasterKey(readText(source.file), source.file) : null;
}

async function openIncluded({ sealed_keys: sealed }: BackupFacts, passphrase: string): Promise<MasterKey> {
  if (sealed === null) {
    throw new SealError(
      'The backup was made without a passphrase and does not contain a key. Nothing was changed.',
    );
  }
  try {
    return (await openExport(JSON.stringify(sealed), passphrase)).masterKey;
  } catch (error) {
    if (error instanceof SealError) throw new SealError(`${error.message} Nothing was changed.`);
    throw error;
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new SealError(explainFileError(file, error, 'read'));
  }
}

/** A key file that is replaced together with the data. */
interface StagedKey {
  /** The files in which old keys are kept. */
  readonly kept: readonly string[];
  /** The data is sealed with the new key now. */
  settle(): void;
}

/**
 * Puts the key of the restored data where either data finds its own, whatever happens next: beside the old
 * key, as in a rotation, or as the key itself if there is none. The next start removes what is not needed.
 */
export function stageKey({ value, file }: MasterKeySource, key: MasterKey, stamp: string): StagedKey {
  const nothing = { kept: [], settle: () => {} };
  if (value !== null) return nothing;
  if (!existsSync(file)) {
    writeKeyFile(file, key);
    return nothing;
  }
  if (fingerprint(parseMasterKey(readText(file), file)) === fingerprint(key)) return nothing;
  const old = [file, `${file}.next`].filter((one) => existsSync(one));
  const kept = old.map((one) => `${one}.replaced-${stamp}`);
  for (const one of old) writeNewFile(`${one}.replaced-${stamp}`, readText(one));
  stageNextKey(file, key);
  return { kept, settle: () => settleNextKey(file, fingerprint(key)) };
}
