import { RequestError } from '@berth/protocol/request-error';
import type { HttpRequest } from '@berth/web/http-request';
import { readBytes } from '@berth/web/read-input';
import { MAX_FILE_BYTES } from '../../core/judge-request.ts';

/** The largest file plus the form encoding. */
const MAX_FORM_BYTES = MAX_FILE_BYTES + 64 * 1024;

/** Longer than any text that is typed or pasted from a QR code. */
const MAX_TEXT_LENGTH = 2048;

/** A form as sent by a browser. */
export interface Form {
  /** Without surrounding whitespace; empty if nothing was entered. */
  text(name: string): string;
  /** The first file, whatever its field name; `null`: none was chosen. */
  readonly file: File | null;
}

export async function readForm(request: HttpRequest): Promise<Form> {
  const bytes = await readBytes(request, MAX_FORM_BYTES);
  const data = await parseForm(bytes, request.headers.get('content-type') ?? '');
  const values = [...data.values()];
  const file = values.find((value): value is File => value instanceof File && value.size > 0) ?? null;
  if (file !== null && file.size > MAX_FILE_BYTES) {
    throw new RequestError('payload_too_large', `The file is larger than ${MAX_FILE_BYTES} bytes.`);
  }
  return { file, text: (name) => readText(data.get(name)) };
}

async function parseForm(bytes: Uint8Array, type: string) {
  try {
    return await new Response(bytes as Uint8Array<ArrayBuffer>, {
      headers: { 'Content-Type': type },
    }).formData();
  } catch {
    throw new RequestError('bad_request', 'The form is not valid. Send it from the portal page.');
  }
}

function readText(value: unknown): string {
  return typeof value === 'string' ? value.trim().slice(0, MAX_TEXT_LENGTH) : '';
}
