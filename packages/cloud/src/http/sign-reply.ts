import type { KeyObject } from 'node:crypto';
import { SIGNATURE_HEADER, signBytes } from '@berth/protocol/cloud/vendor-signature';
import type { TextReply } from '@berth/web/reply';

/** The portal has forms, which the usual policy forbids. */
export const CONTENT_POLICY =
  "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** Every response is signed, including refusals, so that a man in the middle cannot fake "expired". */
export function signReply(
  { status, body, type, headers }: TextReply,
  key: KeyObject,
  now: number,
): TextReply {
  return {
    status,
    body,
    type,
    headers: {
      'Content-Security-Policy': CONTENT_POLICY,
      Date: new Date(now).toUTCString(),
      [SIGNATURE_HEADER]: signBytes(key, Buffer.from(body)),
      ...headers,
    },
  };
}
