import { Readable } from 'node:stream';
import type { Peer } from '../../packages/server/src/http/access/caller.ts';
import type { App } from '../../packages/server/src/http/app.ts';
import type { HttpRequest } from '../../packages/server/src/http/http-request.ts';
import { headersOf, type Reply } from '../../packages/server/src/http/reply/reply.ts';
import { readStream } from '../../packages/server/src/http/sockets/node-request.ts';

/** Sends a request to the app without a socket. */
export async function fetchFrom(app: App, request: Request, peer: Peer): Promise<Response> {
  const reply = await app.answer(toHttpRequest(request), peer);
  return toResponse(request.method === 'HEAD' ? { ...reply, body: null } : reply);
}

export function toHttpRequest(request: Request): HttpRequest {
  const { method, headers, signal } = request;
  const { pathname, search } = new URL(request.url);
  return {
    method,
    url: pathname + search,
    headers,
    signal,
    readBody: (limit) => readStream(Readable.from(request.body ?? []), limit),
  };
}

export function toResponse(reply: Reply): Response {
  return new Response(reply.body, { status: reply.status, headers: headersOf(reply) });
}
