import { LIMITS } from '../config.ts';
import { RequestError } from '../services/request-error.ts';

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The body as text, bounded. What is too large is read and thrown away for a while, so that the answer arrives. */
export async function readBodyText(request: Request): Promise<string> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN);
  const bytes = declared <= LIMITS.bodyBytes ? await readDeclared(request) : await readBounded(request);
  try {
    return decoder.decode(bytes);
  } catch {
    throw new RequestError('invalid_json', 'The body is not valid UTF-8.');
  }
}

/** The HTTP parser ends the body at its declared length. */
async function readDeclared(request: Request): Promise<ArrayBuffer> {
  return request.arrayBuffer();
}

async function readBounded(request: Request): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.length;
    if (size > LIMITS.discardBytes) break;
    if (size <= LIMITS.bodyBytes) chunks.push(chunk);
  }
  if (size > LIMITS.bodyBytes) {
    throw new RequestError('payload_too_large', `The body is larger than ${LIMITS.bodyBytes} bytes.`);
  }
  return Buffer.concat(chunks);
}
