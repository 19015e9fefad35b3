import { LIMITS } from '../../config.ts';
import { RequestError } from '../../services/request-error.ts';

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * The body as text, bounded. What is too large is read and thrown away for a while, so that the answer
 * arrives.
 */
export async function readBodyText(request: Request, limit: number): Promise<string> {
  const bytes = await readBytes(request, limit);
  try {
    return decoder.decode(bytes);
  } catch {
    throw new RequestError('invalid_json', 'The body is not valid UTF-8.');
  }
}

/**
 * The text of an uploaded file: the first file of a form, whatever its field is called, or the body itself.
 * A form without a file may carry the text in its first field.
 */
export async function readUploadText(request: Request): Promise<string> {
  const bytes = await readBytes(request, LIMITS.fileBodyBytes);
  const type = request.headers.get('content-type') ?? '';
  const file = /^multipart\/form-data\b/i.test(type) ? await findFile(bytes, type) : bytes;
  try {
    return decoder.decode(file);
  } catch {
    throw new RequestError('offline_file_invalid', 'The file is not text.');
  }
}

async function findFile(bytes: ArrayBuffer, type: string): Promise<ArrayBuffer> {
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData().catch(() => {
    throw new RequestError('bad_request', 'The form cannot be read.');
  });
  const parts = [...form.values()];
  const first = parts.find((part) => typeof part !== 'string') ?? parts[0];
  if (first === undefined) throw new RequestError('missing_parameters', 'The form does not contain a file.');
  return typeof first === 'string' ? toBuffer(first) : first.arrayBuffer();
}

function toBuffer(text: string): ArrayBuffer {
  return new TextEncoder().encode(text).buffer as ArrayBuffer;
}

async function readBytes(request: Request, limit: number): Promise<ArrayBuffer> {
  const bytes = await readWithin(request, limit);
  if (bytes !== null) return bytes;
  throw new RequestError('payload_too_large', `The body is larger than ${limit} bytes.`);
}

/** `null` for a body that is too large. */
async function readWithin(request: Request, limit: number): Promise<ArrayBuffer | null> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN);
  try {
    // The HTTP parser ends the body at its declared length.
    return declared <= limit ? await request.arrayBuffer() : await readBounded(request, limit);
  } catch {
    // The client went away, or was cut for its slowness. That is no bug of ours.
    throw new RequestError('bad_request', 'The connection was closed before the end of the body.');
  }
}

async function readBounded(request: Request, limit: number): Promise<ArrayBuffer | null> {
  if (request.body === null) return new ArrayBuffer(0);
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return size > limit ? null : joinChunks(chunks, size);
    size += value.length;
    if (size <= limit) chunks.push(value);
    if (size > LIMITS.discardBytes) {
      discardRest(reader);
      return null;
    }
  }
}

function joinChunks(chunks: readonly Uint8Array[], size: number): ArrayBuffer {
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole.buffer;
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
