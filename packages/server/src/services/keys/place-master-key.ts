import { existsSync, readFileSync } from 'node:fs';
import { type MasterKeySource, parseMasterKey, writeKeyFile } from '../../secrets/master-key.ts';
import { fingerprint, type MasterKey, SealError } from '../../secrets/seal.ts';
import { describeHolder, lockFolder } from '../../store/folder-lock.ts';

interface Placing {
  readonly folder: string;
  readonly source: MasterKeySource;
  readonly key: MasterKey;
  /**
   * The fingerprint of the key that sealed the store; `null` if there is no store, or it is empty.
   */
  findSealedBy(): Promise<string | null>;
}

/** Installs a master key in the folder of a stopped server. It never replaces another key. */
export async function placeMasterKey({ folder, source, key, findSealedBy }: Placing): Promise<void> {
  if (source.value !== null) {
    throw new SealError('The master key comes from BERTH_MASTER_KEY. Unset it, or set it to the right key.');
  }
  if (!existsSync(folder)) {
    throw new SealError(
      `The folder ${folder} does not exist. Create it (mkdir -m 700), or choose another one with --data.`,
    );
  }
  const lock = lockFolder(folder);
  if (lock === null) throw new SealError(`${folder} is in use by ${describeHolder(folder)}. Stop it first.`);
  try {
    requireFitting(await findSealedBy(), key);
    requireNoOther(source.file, key);
    writeKeyFile(source.file, key);
  } finally {
    lock.release();
  }
}

/** Refuses an export from before the last rotation, or of another server. */
function requireFitting(sealedBy: string | null, key: MasterKey): void {
  if (sealedBy === null || sealedBy === fingerprint(key)) return;
  throw new SealError(
    `The export contains master key ${fingerprint(key)}, but the store needs ${sealedBy}. ` +
      'Nothing was written.',
  );
}

function requireNoOther(file: string, key: MasterKey): void {
  if (!existsSync(file)) return;
  const present = fingerprint(parseMasterKey(readFileSync(file, 'utf8'), file));
  if (present === fingerprint(key)) return;
  throw new SealError(
    `${file} is a different master key (${present}; the export contains ${fingerprint(key)}). ` +
      'Move it away first. Nothing was written.',
  );
}
