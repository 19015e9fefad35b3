import { createHash, timingSafeEqual } from 'node:crypto';
import type { CloudKeys } from '@berth/protocol/cloud/cloud-authorization';
import { type Refusal, refuse } from '../core/refusal.ts';
import { makeUpApiKey, makeUpSharedKey } from './made-up-keys.ts';
import type { Row } from './rows.ts';
import { record, type Shelf, transact } from './shelf.ts';

/** What a caller of the API proves itself with. All of them belong to the vendor's account. */
export interface CallerKey extends CloudKeys {
  readonly name: string;
  readonly isEnabled: boolean;
  readonly createdAt: number;
}

const NAME = /^[\w.-]{1,64}$/;

export function createKey(shelf: Shelf, wanted: string | null, now: number): CallerKey | Refusal {
  return transact(shelf, () => {
    const known = listKeys(shelf);
    const name = wanted ?? `key-${known.length + 1}`;
    if (!NAME.test(name)) {
      return refuse(
        'validation_error',
        `"${name}" cannot be the name of a key: letters, digits, ".", "_", "-".`,
      );
    }
    if (known.some((key) => key.name === name)) {
      return refuse('validation_error', `There is a key "${name}" already. Take another name with --name.`);
    }
    const key = {
      name,
      apiKey: makeUpApiKey(),
      sharedKey: makeUpSharedKey(),
      isEnabled: true,
      createdAt: now,
    };
    shelf.sql.addKey.run(name, key.apiKey, key.sharedKey, now);
    record(shelf, { kind: 'key_created', facts: { name } }, null, now);
    return key;
  });
}

export function listKeys({ sql }: Shelf): readonly CallerKey[] {
  return sql.listKeys.all().map(toKey);
}

function toKey(row: Row): CallerKey {
  return {
    name: row.name as string,
    apiKey: row.api_key as string,
    sharedKey: row.shared_key as string,
    isEnabled: row.enabled === 1,
    createdAt: row.created_at as number,
  };
}

/** Looks at every key in the same way, so that the time does not tell how much of one was right. */
export function findCaller(shelf: Shelf, apiKey: string): CallerKey | null {
  const wanted = digest(apiKey);
  const found = listKeys(shelf).filter((key) => timingSafeEqual(digest(key.apiKey), wanted));
  return found.find(({ isEnabled }) => isEnabled) ?? null;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Fewer letters would name a key by accident. */
const SHORTEST_PREFIX = 6;

/** By its name, or by the first letters of its API key. */
export function disableKey(shelf: Shelf, word: string, now: number): CallerKey | Refusal {
  return transact(shelf, () => {
    const keys = listKeys(shelf);
    const isPrefix = word.length >= SHORTEST_PREFIX;
    const byPrefix = keys.filter(({ apiKey }) => isPrefix && apiKey.startsWith(word));
    const key = keys.find(({ name }) => name === word) ?? byPrefix[0];
    if (key === undefined) return refuse('invalid_api_key', `There is no key "${word}".`);
    if (key.name !== word && byPrefix.length > 1) {
      return refuse('invalid_api_key', `Several keys start with "${word}". Say the name.`);
    }
    if (key.isEnabled) {
      shelf.sql.disableKey.run(key.name);
      record(shelf, { kind: 'key_disabled', facts: { name: key.name } }, null, now);
    }
    return { ...key, isEnabled: false };
  });
}
