import { type MasterKey, SealError, unsealWithAny } from '../../../secrets/seal.ts';
import { querySecrets } from '../../engine/queries.ts';
import type { SealedSecrets } from '../../engine/sealed-secrets.ts';
import { type Ask, answerQuery } from './ask.ts';

/** All as of one moment. */
export function listSecrets(ask: Ask): Promise<SealedSecrets> {
  return answerQuery(
    ask,
    querySecrets((secrets) => secrets),
  );
}

/** One of the keys that the store has made for itself when it was first opened. */
export function openSecret(
  secrets: SealedSecrets,
  name: string,
  masterKeys: readonly MasterKey[],
): Uint8Array {
  const sealed = secrets.get(name);
  if (sealed === undefined) {
    throw new SealError(`The database has no secret "${name}". Start a server on it to create one.`);
  }
  return unsealWithAny(masterKeys, name, sealed);
}
