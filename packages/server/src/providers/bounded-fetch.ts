import { type IncomingMessage, request as requestPlainly } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { ProviderFault } from './sign-in-provider.ts';

interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | null | undefined;
}

/** A person may be in thousands of groups. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/**
 * `fetch` with a limit on the size of answers, and with certificates (PEM) that vouch for the other side
 * instead of those that Node knows. It follows no redirects. `sent.signal` limits the time.
 */
export function createBoundedFetch(ca: string | null) {
  return async (url: string, sent: Sent): Promise<Response> => {
    try {
      const message = await send(url, ca, sent);
      return toResponse(message, await readBounded(message));
    } catch (error) {
      if (sent.signal?.aborted === true) throw sent.signal.reason;
      throw error instanceof ProviderFault ? error : unreachable(url, error);
    }
  };
}

function send(url: string, ca: string | null, { method, headers, body, signal }: Sent) {
  const options = {
    method,
    // A stale kept-alive connection would look like a provider that is away.
    headers: { ...headers, connection: 'close' },
    ...(ca === null ? {} : { ca }),
    ...(signal ? { signal } : {}),
  };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = url.startsWith('https:') ? requestSecurely(url, options) : requestPlainly(url, options);
  request.on('response', resolve).on('error', reject);
  request.end(body == null ? undefined : String(body));
  return promise;
}

async function readBounded(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Leaving the loop ends the connection.
    if (size > MAX_ANSWER_BYTES) throw new ProviderFault('unavailable', 'The provider sends too much.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Statuses that a `Response` cannot have with a body. */
const WITHOUT_BODY = new Set([204, 205, 304]);

function toResponse({ statusCode = 0, headers }: IncomingMessage, bytes: Buffer): Response {
  const type = headers['content-type'];
  return new Response(WITHOUT_BODY.has(statusCode) ? null : new Uint8Array(bytes), {
    status: statusCode,
    headers: type === undefined ? {} : { 'content-type': type },
  });
}

function unreachable(url: string, error: unknown): ProviderFault {
  const { code = 'no reason' } = error as NodeJS.ErrnoException;
  return new ProviderFault(
    'unavailable',
    `The provider at ${new URL(url).host} cannot be reached (${code}).`,
    error,
  );
}
