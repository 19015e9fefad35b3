import { ERRORS, type ErrorCode } from '@berth/protocol/errors';

/**
 * The response of a route. The body is ready to send, so that nothing is serialised twice: text, or a stream
 * if it is long or endless.
 */
export interface Reply {
  readonly status: number;
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null;
  readonly type: keyof typeof TYPES;
  readonly headers?: Readonly<Record<string, string>>;
  /** For how long the request was kept waiting on purpose. */
  readonly waitedMs?: number;
  /** A text of characters that are one byte each, if that is known. */
  readonly isAscii?: boolean;
}

export interface TextReply extends Reply {
  readonly body: string;
}

const TYPES = {
  json: 'application/json; charset=utf-8',
  text: 'text/plain; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
  png: 'image/png',
  jpeg: 'image/jpeg',
  lines: 'application/jsonl; charset=utf-8',
  events: 'text/event-stream; charset=utf-8',
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  bytes: 'application/octet-stream',
} as const;

/** Headers of every response: no caching, framing, sniffing or referrers, and only our style sheet loads. */
export const SECURITY_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
} as const;

export const HEADERS = Object.fromEntries(
  Object.entries(TYPES).map(([type, value]) => [type, { 'Content-Type': value, ...SECURITY_HEADERS }]),
) as Readonly<Record<Reply['type'], { readonly 'Content-Type': string } & typeof SECURITY_HEADERS>>;

export function json(value: unknown): TextReply {
  return jsonText(JSON.stringify(value));
}

/** An answer that is put together from parts: the fields of a JSON object as text, without its braces. */
export interface Fields {
  readonly fields: string;
  readonly isAscii: boolean;
}

export function fieldsOf(facts: object): string {
  const texts = Object.entries(facts).map(([name, value]) => {
    const text = JSON.stringify(value);
    return text === undefined ? null : `${JSON.stringify(name)}:${text}`;
  });
  return texts.filter((text) => text !== null).join(',');
}

export function fieldsReply({ fields, isAscii }: Fields): Reply {
  return { status: 200, body: `{${fields}}`, type: 'json', isAscii };
}

export function jsonText(body: string): TextReply {
  return { status: 200, body, type: 'json' };
}

export function text(body: string): TextReply {
  return { status: 200, body, type: 'text' };
}

/** A download with a plain ASCII name of our choice. */
export function fileReply(body: string, fileName: string): TextReply {
  return downloadReply(body, 'text', fileName);
}

export function csvReply(body: string, fileName: string): Reply {
  return downloadReply(body, 'csv', fileName);
}

function downloadReply(body: string, type: 'text' | 'csv', fileName: string): TextReply {
  const headers = { 'Content-Disposition': `attachment; filename="${fileName}"` };
  return { status: 200, body, type, headers };
}

/** Always `{status, code, message}`, followed by facts. */
export function problemReply(
  code: ErrorCode,
  message: string,
  details: object,
  retryAfterSeconds?: number,
): TextReply {
  const { status } = ERRORS[code];
  const body = JSON.stringify({ status, code, message, ...details });
  return withRetryAfter({ status, body, type: 'json' }, retryAfterSeconds);
}

/** Tells the client when to retry, if its request may succeed then. */
export function withRetryAfter<R extends Reply>(reply: R, seconds = 1): R {
  if (reply.status !== 503 && reply.status !== 429) return reply;
  return { ...reply, headers: { 'Retry-After': String(seconds) } };
}

/** 200 without a body. */
export function empty(): Reply {
  return { status: 200, body: null, type: 'text' };
}

export function headersOf({ type, headers }: Reply): Readonly<Record<string, string>> {
  return headers === undefined ? HEADERS[type] : { ...HEADERS[type], ...headers };
}
