import type { WireAnswer } from './environment.ts';

export type Fields = Readonly<Record<string, unknown>>;

const STORE_ID = /^[\w-]{43}$/;

export function readFields(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Fields) : {};
  } catch {
    return {};
  }
}

/** Others answer 200, too: the page of a guest network, a proxy, another service. They lack these fields. */
export function isFromBerth(path: string, fields: Fields, text: string): boolean {
  const { total_consumptions, slot_ends_in_seconds, floating_timeout, borrowed_until } = fields;
  if (path === 'unregister') return text.includes('user_unregistered');
  if (path === 'featureRelease') return text.includes('feature_released');
  if (path.endsWith('consumption')) return typeof total_consumptions === 'number';
  if (path === 'borrow' && Number.isNaN(Date.parse(String(borrowed_until)))) return false;
  const lasts = slot_ends_in_seconds ?? floating_timeout;
  return typeof lasts === 'number' && lasts >= 0;
}

/**
 * The public id of a server's store in the answer to a request for its keys; `null` if it has none, or if
 * the server does not know the request. Throws if something other than Berth has answered.
 */
export function readStoreId({ status, text }: WireAnswer): string | null {
  if (status >= 400) return null;
  const { keys, store_id: id } = readFields(text);
  if (!Array.isArray(keys)) throw new Error(`HTTP status ${status}, and not from Berth`);
  return typeof id === 'string' && STORE_ID.test(id) ? id : null;
}
