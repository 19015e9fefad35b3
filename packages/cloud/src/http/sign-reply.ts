import type { KeyObject } from 'node:crypto';
import { SIGNATURE_HEADER, signBytes } from '@berth/protocol/vendor-signature';
import type { Reply } from './reply.ts';

const TYPES = {
  json: 'application/json; charset=utf-8',
  text: 'text/plain; charset=utf-8',
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
} as const;

export interface SignedReply {
  readonly status: number;
  readonly bytes: Buffer<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Every answer is signed, refusals too: who stands between must not be able to say "expired". */
export function signReply({ status, body, type, headers }: Reply, key: KeyObject, now: number): SignedReply {
  const bytes = Buffer.from(body);
  return {
    status,
    bytes,
    headers: {
      'Content-Type': TYPES[type],
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      Date: new Date(now).toUTCString(),
      [SIGNATURE_HEADER]: signBytes(key, bytes),
      ...headers,
    },
  };
}
