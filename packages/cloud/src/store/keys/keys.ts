import { createHash, timingSafeEqual } from 'node:crypto';
import type { CloudKeys } from '@berth/protocol/cloud/cloud-authorization';
import { type Refusal, refuse } from '../../core/refusal.ts';
import { type CloudStore, record, transact } from '../cloud-store.ts';
import type { Row } from '../rows.ts';
import { generateApiKey, generateSharedKey } from './generate-keys.ts';

/** The credentials of an API caller. */
export interface CallerKey extends CloudKeys {
  readonly name: string;
  /** Whose licenses it opens; `null`: the vendor's own pair opens all. */
  readonly customer: string | null;
  readonly isEnabled: boolean;
  readonly createdAt: number;
}

const NAME = /^[\w.-]{1,64}$/;

export function createKey(
  store: CloudStore,
  wanted: string | null,
  now: number,
  customer: string | null = null,
): CallerKey | Refusal {
  return transact(store, () => {
    const known = listKeys(store);
    const name = wanted ?? `key-${known.length + 1}`;
    if (!NAME.test(name)) {
      return refuse(
        'validation_error',
        `"${name}" is not a valid key name. Use letters, digits, ".", "_" and "-".`,
      );
    }
    if (known.some((key) => key.name === name)) {
      return refuse('validation_error', `The key "${name}" already exists. Choose another name with --name.`);
    }
    const key = {
      name,
      apiKey: generateApiKey(),
      sharedKey: generateSharedKey(),
      customer,
      isEnabled: true,
      createdAt: now,
    };
    store.sql.addKey.run(name, key.apiKey, key.sharedKey, customer, now);
    record(store, { kind: 'key_created', facts: { name, customer } }, null, now);
    return key;
  });
}

export function listKeys({ sql }: CloudStore): readonly CallerKey[] {
  return sql.listKeys.all().map(toKey);
}

function toKey(row: Row): CallerKey {
  return {
    name: row.name as string,
    apiKey: row.api_key as string,
    sharedKey: row.shared_key as string,
    customer: row.customer as string | null,
    isEnabled: row.enabled === 1,
    createdAt: row.created_at as number,
  };
}

/** Checks unknown API keys against this dummy, so that they take as long as known ones. It never matches. */
export const DUMMY_SHARED_KEY = '0'.repeat(64);

/** Compares in constant time. */
export function findCaller(store: CloudStore, apiKey: string): CallerKey | null {
  const wanted = digest(apiKey);
  const found = listKeys(store).filter((key) => timingSafeEqual(digest(key.apiKey), wanted));
  return found.find(({ isEnabled }) => isEnabled) ?? null;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** A shorter prefix could match a key by accident. */
const SHORTEST_PREFIX = 6;

/** By its name, or by a prefix of its API key. */
export function disableKey(store: CloudStore, word: string, now: number): CallerKey | Refusal {
  return transact(store, () => {
    const keys = listKeys(store);
    const isPrefix = word.length >= SHORTEST_PREFIX;
    const byPrefix = keys.filter(({ apiKey }) => isPrefix && apiKey.startsWith(word));
    const key = keys.find(({ name }) => name === word) ?? byPrefix[0];
    if (key === undefined) return refuse('invalid_api_key', `The key "${word}" does not exist.`);
    if (key.name !== word && byPrefix.length > 1) {
      return refuse('invalid_api_key', `Several keys start with "${word}". Give the full name.`);
    }
    if (key.isEnabled) {
      store.sql.disableKey.run(key.name);
      record(store, { kind: 'key_disabled', facts: { name: key.name } }, null, now);
    }
    return { ...key, isEnabled: false };
  });
}
