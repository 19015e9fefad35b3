import { Readable } from 'node:stream';
import type { App } from '@berth/web/app';
import type { HttpRequest, Peer } from '@berth/web/http-request';
import { readStream } from '@berth/web/node-request';
import { PlainRequest, parsePlainHead } from '@berth/web/plain-request';
import { headersOf, type Reply } from '@berth/web/reply';

/**
 * Sends a request to the app without a socket, as if the fast lane had read it. `null` if it would leave the
 * request to Node.
 */
export async function fetchThroughLane(
  app: App,
  { path, headers, body }: PlainSend,
  peer: Peer,
): Promise<Response | null> {
  const lines = { 'content-length': String(body.length), ...headers };
  const text = Object.entries(lines).map(([name, value]) => `\r\n${name}: ${value}`);
  const head = parsePlainHead(`POST ${path} HTTP/1.1${text.join('')}`);
  const answer = head?.bodyBytes === body.length ? app.findPlain(head.path) : undefined;
  if (head === null || answer === undefined) return null;
  return toResponse(
    await answer(new PlainRequest(head, body, () => ({ isGone: false, onGone: null })), peer),
  );
}

interface PlainSend {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Sends a request to the app without a socket, as if Node had read it. */
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
  return new Response(reply.body || null, { status: reply.status, headers: headersOf(reply) });
}
