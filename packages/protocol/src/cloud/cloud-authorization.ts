import { createHmac, timingSafeEqual } from 'node:crypto';

/** The credentials of a caller at the licensing cloud. The shared key is never sent. */
export interface CloudKeys {
  readonly apiKey: string;
  readonly sharedKey: string;
}

/** How far the date of a request may be from the cloud's clock, either way. It bounds replays, too. */
export const DATE_TOLERANCE_MS = 15 * 60 * 1000;

const ALGORITHM = 'hmac-sha256';
const SIGNED_HEADERS = 'date';

/** The prefix is part of the protocol; every client signs with it. */
function signedText(date: string): string {
  return `licenseSpring\ndate: ${date}`;
}

export function signDate(sharedKey: string, date: string): string {
  return createHmac('sha256', sharedKey).update(signedText(date)).digest('base64');
}

/** The `Authorization` header of a request whose `Date` header is `date`. */
export function authorizationHeader({ apiKey, sharedKey }: CloudKeys, date: string): string {
  const signature = signDate(sharedKey, date);
  return `algorithm="${ALGORITHM}",headers="${SIGNED_HEADERS}",signature="${signature}",apikey="${apiKey}"`;
}

interface Authorization {
  readonly apiKey: string;
  readonly signature: string;
}

const PARAMETER = /^\s*([a-z]+)\s*=\s*"([^"]*)"\s*$/i;

/** Reads the header; `null` when it is not one of ours. Names in any case, spaces around commas allowed. */
export function parseAuthorization(header: string): Authorization | null {
  const found = new Map<string, string>();
  for (const part of header.split(',')) {
    const [, name, value] = PARAMETER.exec(part) ?? [];
    if (name === undefined || value === undefined || found.has(name.toLowerCase())) return null;
    found.set(name.toLowerCase(), value);
  }
  const apiKey = found.get('apikey');
  const signature = found.get('signature');
  if (found.get('algorithm')?.toLowerCase() !== ALGORITHM) return null;
  if (found.get('headers')?.toLowerCase() !== SIGNED_HEADERS) return null;
  return apiKey === undefined || signature === undefined ? null : { apiKey, signature };
}

export function isDateSigned(sharedKey: string, date: string, signature: string): boolean {
  const expected = Buffer.from(signDate(sharedKey, date));
  const given = Buffer.from(signature);
  return expected.length === given.length && timingSafeEqual(expected, given);
}
