import { LIMITS } from '../config.ts';
import { RequestError } from '../services/request-error.ts';

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * The body as text, bounded. What is too large is read and thrown away for a while, so that the answer
 * arrives.
 */
export async function readBodyText(request: Request): Promise<string> {
  const bytes = await readBytes(request);
  if (bytes === null) {
    throw new RequestError('payload_too_large', `The body is larger than ${LIMITS.bodyBytes} bytes.`);
  }
  try {
    return decoder.decode(bytes);
  } catch {
    throw new RequestError('invalid_json', 'The body is not valid UTF-8.');
  }
}

/** `null` for a body that is too large. */
async function readBytes(request: Request): Promise<ArrayBuffer | Uint8Array | null> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN);
  try {
    // The HTTP parser ends the body at its declared length.
    return declared <= LIMITS.bodyBytes ? await request.arrayBuffer() : await readBounded(request);
  } catch {
    // The client went away, or was cut for its slowness. That is no bug of ours.
    throw new RequestError('bad_request', 'The body broke off before its end.');
  }
}

async function readBounded(request: Request): Promise<Uint8Array | null> {
  if (request.body === null) return new Uint8Array(0);
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return size > LIMITS.bodyBytes ? null : Buffer.concat(chunks);
    size += value.length;
    if (size <= LIMITS.bodyBytes) chunks.push(value);
    if (size > LIMITS.discardBytes) {
      discardRest(reader);
      return null;
    }
  }
}

/**
 * The answer does not wait for the rest, but the rest is taken in: left unread it would stand in the way of
 * the next request on this connection. A client that goes on for too long is cut by the HTTP server.
 */
function discardRest(reader: ReadableStreamDefaultReader<Uint8Array>): void {
  reader.read().then(
    ({ done }) => {
      if (!done) discardRest(reader);
    },
    () => {},
  );
}
