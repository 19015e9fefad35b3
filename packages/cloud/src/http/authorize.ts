import {
  DATE_TOLERANCE_MS,
  isDateSigned,
  parseAuthorization,
} from '@berth/protocol/cloud/cloud-authorization';
import { RequestError } from '@berth/protocol/request-error';
import type { HeaderFields } from '@berth/web/http-request';
import type { CloudStore } from '../store/cloud-store.ts';
import { type CallerKey, DUMMY_SHARED_KEY, findCaller } from '../store/keys/keys.ts';

/** The caller. Throws unless the API key, the signature and the date are valid, checked in this order. */
export function authorize(store: CloudStore, headers: HeaderFields, now: number): CallerKey {
  const authorization = parseAuthorization(headers.get('authorization') ?? '');
  if (authorization === null) {
    throw new RequestError('invalid_api_key', 'The Authorization header is missing or cannot be read.');
  }
  const date = headers.get('date') ?? '';
  const caller = findCaller(store, authorization.apiKey);
  const isSigned = isDateSigned(caller?.sharedKey ?? DUMMY_SHARED_KEY, date, authorization.signature);
  if (caller === null) throw new RequestError('invalid_api_key', 'The API key is unknown or disabled.');
  if (date === '') throw new RequestError('date_not_valid', 'The Date header is missing.');
  if (!isSigned) {
    throw new RequestError('signature_mismatch', 'The signature is wrong. Check the shared key.');
  }
  requireNear(date, now);
  return caller;
}

/** Prevents replays: the date is part of the signed text. */
function requireNear(date: string, now: number): void {
  const sentAt = parseHttpDate(date);
  const here = new Date(now).toUTCString();
  if (sentAt !== null && Math.abs(now - sentAt) <= DATE_TOLERANCE_MS) return;
  throw new RequestError(
    'date_not_valid',
    `The request is dated "${date}", but it is ${here}. Correct the clock; 15 minutes are tolerated.`,
  );
}

/** `null` for every format except the one HTTP prescribes. */
function parseHttpDate(text: string): number | null {
  const at = Date.parse(text);
  return !Number.isNaN(at) && new Date(at).toUTCString() === text ? at : null;
}
