import { LIMITS } from '../config.ts';
import { RequestError } from '../services/request-error.ts';

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The body as text, bounded. What is too large is read and thrown away for a while, so that the answer arrives. */
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
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.length;
    if (size > LIMITS.discardBytes) break;
    if (size <= LIMITS.bodyBytes) chunks.push(chunk);
  }
  return size > LIMITS.bodyBytes ? null : Buffer.concat(chunks);
}
