import { dirname } from 'node:path';
import { RequestError } from '@berth/protocol/request-error';
import { syncFolder } from '@berth/shell/files/durable-file';
import { MIN_PASSPHRASE_LENGTH, type SealedText } from '@berth/shell/files/passphrase-seal';
import type { Actor } from '../../core/nouns/actor.ts';
import { Fault } from '../../core/nouns/fault.ts';
import { sealExport } from '../../secrets/key-export.ts';
import { findNextKey, settleNextKey, stageNextKey } from '../../secrets/key-rotation.ts';
import {
  loadMasterKey,
  type MasterKeySource,
  makeMasterKey,
  parseMasterKey,
} from '../../secrets/master-key.ts';
import { fingerprint, type MasterKey, SealError } from '../../secrets/seal.ts';
import type { Store } from '../../store/store.ts';
import { createTurns } from '../create-turns.ts';

/** Manages the master key, one operation at a time: a rotation and an export never overlap. */
export interface KeyCustody {
  describe(): Promise<MasterKeyDescription>;
  /** Reseals every secret. `null`: with a generated key. */
  rotate(newKey: string | null, by: Actor): Promise<Rotated>;
  /** The master key sealed with a passphrase, to be kept elsewhere. */
  export(passphrase: string, by: Actor): Promise<SealedText>;
  /** Does work with the key, which is not replaced meanwhile. With a passphrase, it is exported too. */
  lend<T>(passphrase: string | null, by: Actor, work: WithKey<T>): Promise<T>;
}

type WithKey<T> = (key: MasterKey, exported: SealedText | null) => Promise<T>;

interface MasterKeyDescription {
  readonly fingerprint: string;
  readonly source: 'file' | 'environment';
  /** `null` if the key comes from the environment. */
  readonly file: string | null;
}

interface Rotated extends MasterKeyDescription {
  readonly replaced: string;
}

export function createKeyCustody(store: Store, source: MasterKeySource): KeyCustody {
  const custodian = new Custodian(store, source);
  const inTurn = createTurns();
  return {
    describe: () => custodian.describe(),
    rotate: (newKey, by) => inTurn(() => custodian.rotate(newKey, by)),
    export: (passphrase, by) => inTurn(() => custodian.export(passphrase, by)),
    lend: (passphrase, by, work) => inTurn(() => custodian.lend(passphrase, by, work)),
  };
}

class Custodian {
  readonly #store: Store;
  readonly #source: MasterKeySource;
  /** The current key, while the environment still has the previous one. */
  #held: MasterKey | null = null;

  constructor(store: Store, source: MasterKeySource) {
    this.#store = store;
    this.#source = source;
  }

  async describe(): Promise<MasterKeyDescription> {
    const { sealedBy } = await this.#store.read({ kind: 'describe_seal' });
    const isFile = this.#source.value === null;
    return {
      fingerprint: sealedBy,
      source: isFile ? 'file' : 'environment',
      file: isFile ? this.#source.file : null,
    };
  }

  async rotate(newKeyText: string | null, by: Actor): Promise<Rotated> {
    const newKey = this.#chooseNewKey(newKeyText);
    const newFingerprint = fingerprint(newKey);
    // A failed commit may still have reached the file. After this it is certain which key seals the store.
    await this.#store.keepClock();
    const { fingerprint: replaced } = await this.describe();
    if (newFingerprint === replaced) {
      throw new RequestError('validation_error', 'The new master key is already in use.', FIELD);
    }
    const isFile = this.#source.value === null;
    if (isFile) this.#stage(newKey, replaced);
    const outcome = await this.#store.execute({ kind: 'rotate_master_key', newKey, newFingerprint, by });
    if (outcome.kind === 'refused') {
      // The new key has sealed nothing, so it must not replace the old one.
      if (isFile) settleNextKey(this.#source.file, replaced);
      throw new RequestError(outcome.code, outcome.message);
    }
    if (isFile) this.#settle(newFingerprint);
    else this.#held = newKey;
    return { ...(await this.describe()), replaced };
  }

  async export(passphrase: string, by: Actor): Promise<SealedText> {
    const usable = requirePassphrase(passphrase);
    const { sealedBy } = await this.#store.read({ kind: 'describe_seal' });
    const { identity } = await this.#store.read({ kind: 'describe_store' });
    const sealed = await sealExport({ masterKey: this.#getKey(sealedBy), identity }, usable);
    const event = { kind: 'master_key_exported', fingerprint: sealedBy, by } as const;
    await this.#store.execute({ kind: 'record_event', event });
    return sealed;
  }

  async lend<T>(passphrase: string | null, by: Actor, work: WithKey<T>): Promise<T> {
    const { sealedBy } = await this.#store.read({ kind: 'describe_seal' });
    const exported = passphrase === null ? null : await this.export(passphrase, by);
    return work(this.#getKey(sealedBy), exported);
  }

  #chooseNewKey(text: string | null): MasterKey {
    if (text !== null) return parseNewKey(text);
    if (this.#source.value === null) return makeMasterKey();
    throw new RequestError(
      'missing_parameters',
      'The master key comes from the environment, which the server cannot change. Send the new key as ' +
        '"new_key" ("berth key rotate --new-key" reads it from standard input).',
      FIELD,
    );
  }

  #stage(key: MasterKey, replaced: string): void {
    const { file } = this.#source;
    try {
      // If the last rotation could not sync its rename, the key in use has its name only in memory.
      syncFolder(dirname(file));
      settleNextKey(file, replaced);
      stageNextKey(file, key);
    } catch (error) {
      const reason = (error as Error).message;
      throw new Fault(
        'store_unavailable',
        `The new master key cannot be written next to ${file}: ${reason}. Nothing was changed.`,
        { cause: error },
      );
    }
  }

  #settle(sealedBy: string): void {
    const { file } = this.#source;
    try {
      settleNextKey(file, sealedBy);
    } catch (error) {
      const reason = (error as Error).message;
      throw new Fault(
        'store_unavailable',
        `The store is sealed with the new master key, but ${file} cannot be replaced: ${reason}. ` +
          `Do not move ${file}.next: the next start installs it.`,
        { cause: error },
      );
    }
  }

  /** The current key. */
  #getKey(sealedBy: string): MasterKey {
    const { value, file } = this.#source;
    const candidates = [this.#held, loadOrNull(this.#source), value === null ? findNextKey(file) : null];
    const found = candidates.find((key) => key !== null && fingerprint(key) === sealedBy);
    if (found != null) return found;
    throw new Fault('store_unavailable', `The master key ${sealedBy} is no longer at ${file}. Put it back.`);
  }
}

const FIELD = { field: 'new_key' };

function loadOrNull(source: MasterKeySource): MasterKey | null {
  try {
    return loadMasterKey({ ...source, mayCreate: false });
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}

function parseNewKey(text: string): MasterKey {
  try {
    return parseMasterKey(text, 'new_key');
  } catch {
    throw new RequestError(
      'validation_error',
      '"new_key" must be 32 bytes, written in hex or base64.',
      FIELD,
    );
  }
}

function requirePassphrase(passphrase: string): string {
  if (passphrase.normalize('NFC').length >= MIN_PASSPHRASE_LENGTH) return passphrase;
  const message = `The passphrase must have at least ${MIN_PASSPHRASE_LENGTH} characters.`;
  throw new RequestError('validation_error', message, { field: 'passphrase' });
}
