import type { Departure, HeaderFields, HttpRequest } from './http-request.ts';
import { HTTP_LIMITS } from './limits.ts';

/** The head of a request in the plain form. */
export interface PlainHead {
  readonly path: string;
  readonly headers: HeaderFields;
  readonly bodyBytes: number;
}

/** A larger head is left to Node, which has its own limit. */
const MAX_HEAD_BYTES = 8 * 1024;

/** Where a request starts and its head ends; no text means that the head is not complete, or too large. */
export function findHead(bytes: Buffer): string | null {
  const text = bytes.toString('latin1', 0, MAX_HEAD_BYTES);
  const end = text.indexOf('\r\n\r\n');
  return end < 0 ? null : text.slice(0, end);
}

/** What follows the head: an empty line. */
export const HEAD_END_BYTES = 4;

const REQUEST_LINE = /^POST (\/api\/v4\/[A-Za-z_/]+) HTTP\/1\.1$/;
/** At most one space before the value, none after it, and only visible ASCII. */
const HEADER_LINE = /^([A-Za-z0-9-]+): ?([!-~]+(?: +[!-~]+)*)$/;
const MAX_HEADERS = 64;

/** They change how a request is read, or what becomes of its connection. */
const NEVER_PLAIN = new Set(['transfer-encoding', 'upgrade', 'expect', 'proxy-connection', 'trailer', 'te']);

/**
 * Reads the head of a request, but only in the form that nearly all clients send: no header twice, no escapes
 * in the path, nothing that can be read in two ways. `null` for every other: it is not refused, but read by
 * Node. What this accepts, Node must read alike.
 */
export function parsePlainHead(head: string): PlainHead | null {
  const [first = '', ...lines] = head.split('\r\n', MAX_HEADERS + 2);
  const path = REQUEST_LINE.exec(first)?.[1];
  if (path === undefined || lines.length > MAX_HEADERS) return null;
  const fields = new Map<string, string>();
  for (const line of lines) {
    const match = HEADER_LINE.exec(line);
    if (match === null) return null;
    const [, name, value] = match as unknown as [string, string, string];
    const key = name.toLowerCase();
    if (fields.has(key) || NEVER_PLAIN.has(key)) return null;
    fields.set(key, value);
  }
  const bodyBytes = readLength(fields.get('content-length'));
  const isPlain =
    bodyBytes !== null && isPlainHost(fields.get('host') ?? '') && isKept(fields.get('connection'));
  return isPlain ? { path, headers: new PlainHeaders(fields), bodyBytes } : null;
}

const NOTHING = new Uint8Array();

/** A request that the fast lane has read. All of its body is here. */
export class PlainRequest implements HttpRequest {
  readonly #head: PlainHead;
  #body: Uint8Array;
  readonly #watch: () => Departure;

  /** `watch`: how to find out that the client is gone. */
  constructor(head: PlainHead, body: Uint8Array, watch: () => Departure) {
    this.#head = head;
    this.#body = body;
    this.#watch = watch;
  }

  get method(): string {
    return 'POST';
  }

  get url(): string {
    return this.#head.path;
  }

  get headers(): HeaderFields {
    return this.#head.headers;
  }

  /** Its routes take no longer because a client is gone; those that do, watch it. */
  get signal(): AbortSignal {
    return new AbortController().signal;
  }

  watch(): Departure {
    return this.#watch();
  }

  readBody(limit: number): Uint8Array | null {
    const body = this.#body;
    // The request may wait for long, and the body with it.
    this.#body = NOTHING;
    return body.length > limit ? null : body;
  }
}

class PlainHeaders implements HeaderFields {
  readonly #fields: ReadonlyMap<string, string>;

  constructor(fields: ReadonlyMap<string, string>) {
    this.#fields = fields;
  }

  get(name: string): string | null {
    return this.#fields.get(name) ?? null;
  }

  [Symbol.iterator]() {
    return this.#fields[Symbol.iterator]();
  }
}

function readLength(text: string | undefined): number | null {
  if (text === undefined || !/^(?:0|[1-9]\d{0,6})$/.test(text)) return null;
  const length = Number(text);
  return length <= HTTP_LIMITS.bodyBytes ? length : null;
}

/** Names and addresses that are valid in a URL whatever the port. */
const PLAIN_HOST = /^(?:[a-z0-9._-]+(?::(?:[1-5]\d{3,4}|[6-9]\d{3}))?|(?:localhost|127\.0\.0\.1):\d{2,4})$/;
const LOCAL_HIGH_PORT = /^(?:localhost|127\.0\.0\.1):6(?:[0-4]\d{3}|5[0-4]\d{2}|55[0-2]\d|553[0-5])$/;

export function isPlainHost(host: string): boolean {
  return PLAIN_HOST.test(host) || LOCAL_HIGH_PORT.test(host);
}

function isKept(connection: string | undefined): boolean {
  return connection === undefined || connection.toLowerCase() === 'keep-alive';
}
