import type { KeyObject } from 'node:crypto';
import { SIGNATURE_HEADER, signBytes } from '@berth/protocol/cloud/vendor-signature';
import type { Reply } from './reply.ts';

const TYPES = {
  json: 'application/json; charset=utf-8',
  text: 'text/plain; charset=utf-8',
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
} as const;

/** Headers of every response: no caching, framing, sniffing or referrers, and only our style sheet loads. */
export const SECURITY_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
} as const;

interface SignedReply {
  readonly status: number;
  readonly bytes: Buffer<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Every response is signed, including refusals, so that a man in the middle cannot fake "expired". */
export function signReply({ status, body, type, headers }: Reply, key: KeyObject, now: number): SignedReply {
  const bytes = Buffer.from(body);
  return {
    status,
    bytes,
    headers: {
      'Content-Type': TYPES[type],
      ...SECURITY_HEADERS,
      Date: new Date(now).toUTCString(),
      [SIGNATURE_HEADER]: signBytes(key, bytes),
      ...headers,
    },
  };
}
