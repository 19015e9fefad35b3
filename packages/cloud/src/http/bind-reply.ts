import {
  type AnswerBinding,
  digestRequest,
  NONCE_HEADER,
  readNonce,
} from '@berth/protocol/cloud/cloud-binding';
import { KEY_STATEMENT_HEADER } from '@berth/protocol/grant/key-statement';
import type { HeaderFields, HttpRequest } from '@berth/web/http-request';
import { HTTP_LIMITS } from '@berth/web/limits';
import { readBytes } from '@berth/web/read-input';
import type { Reply } from './reply.ts';

/** What is known about a request so far. An early refusal repeats what was read until then. */
export interface RequestBinding {
  /** `null`: the caller sent no nonce, so the response has no binding. */
  readonly nonce: string | null;
  requestDigest: string | null;
  hardwareId: string | null;
  licenseId: number | null;
}

export function startBinding(headers: HeaderFields): RequestBinding {
  const nonce = readNonce(headers.get(NONCE_HEADER.toLowerCase()));
  return { nonce, requestDigest: null, hardwareId: null, licenseId: null };
}

/** Stores the digest of the exact request and returns a request whose body is already read. */
export async function bindContent(request: HttpRequest, binding: RequestBinding): Promise<HttpRequest> {
  const { pathname, search } = new URL(request.url, 'http://localhost');
  const operation = pathname.slice(pathname.lastIndexOf('/') + 1);
  const { method, url, headers, signal } = request;
  const hasBody = method === 'POST';
  const content = hasBody ? await readBytes(request, HTTP_LIMITS.bodyBytes) : search.slice(1);
  const keyStatement = headers.get(KEY_STATEMENT_HEADER.toLowerCase());
  if (binding.nonce !== null) binding.requestDigest = digestRequest(operation, content, keyStatement);
  if (typeof content === 'string') return request;
  return { method, url, headers, signal, readBody: () => content };
}

/** Inside the body, so that the signature covers it. */
export function bindReply(
  reply: Reply,
  { nonce, requestDigest, hardwareId, licenseId }: RequestBinding,
): Reply {
  if (nonce === null || reply.type !== 'json') return reply;
  const binding: AnswerBinding = {
    nonce,
    license_id: licenseId,
    hardware_id: hardwareId,
    request_digest: requestDigest,
  };
  return { ...reply, body: JSON.stringify({ ...JSON.parse(reply.body), ...binding }) };
}
