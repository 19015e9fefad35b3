import {
  type AnswerBinding,
  digestRequest,
  NONCE_HEADER,
  readNonce,
} from '@berth/protocol/cloud/cloud-binding';
import { KEY_STATEMENT_HEADER } from '@berth/protocol/grant/key-statement';
import { MOST_BODY_BYTES, readBytes } from './read-input.ts';
import type { Reply } from './reply.ts';

/** What is known about a request so far. An early refusal repeats what was read until then. */
export interface Asked {
  /** `null`: the caller sent no nonce, so the response has no binding. */
  readonly nonce: string | null;
  requestDigest: string | null;
  hardwareId: string | null;
  licenseId: number | null;
}

export function noteAsked(headers: Headers): Asked {
  const nonce = readNonce(headers.get(NONCE_HEADER));
  return { nonce, requestDigest: null, hardwareId: null, licenseId: null };
}

/** Stores the digest of the exact request and returns a request whose body is already read. */
export async function noteContent(request: Request, asked: Asked): Promise<Request> {
  const { pathname, search } = new URL(request.url);
  const operation = pathname.slice(pathname.lastIndexOf('/') + 1);
  const isGet = request.method === 'GET';
  const content = isGet ? search.slice(1) : await readBytes(request, MOST_BODY_BYTES);
  const keyStatement = request.headers.get(KEY_STATEMENT_HEADER);
  if (asked.nonce !== null) asked.requestDigest = digestRequest(operation, content, keyStatement);
  if (typeof content === 'string') return request;
  return new Request(request.url, { method: request.method, headers: request.headers, body: content });
}

/** Inside the body, so that the signature covers it. */
export function bindReply(reply: Reply, { nonce, requestDigest, hardwareId, licenseId }: Asked): Reply {
  if (nonce === null || reply.type !== 'json') return reply;
  const binding: AnswerBinding = {
    nonce,
    license_id: licenseId,
    hardware_id: hardwareId,
    request_digest: requestDigest,
  };
  return { ...reply, body: JSON.stringify({ ...JSON.parse(reply.body), ...binding }) };
}
