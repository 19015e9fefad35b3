import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { RequestError } from '@berth/protocol/request-error';
import type { Unfinished } from './body-budget.ts';
import type { Departure, HeaderFields, HttpRequest } from './http-request.ts';
import { HTTP_LIMITS } from './limits.ts';
import { isPlainHost } from './plain-request.ts';

/** How much of a request's body may be kept while it arrives. */
export type OpenUnfinished = (incoming: IncomingMessage) => Unfinished;

/** For the command line's own socket. */
const UNBOUNDED: Unfinished = { keep: () => true, end: () => {} };

/** A request that Node has read; `null` if its URL or its Host header is not valid. */
export function nodeRequest(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  open: OpenUnfinished = () => UNBOUNDED,
): HttpRequest | null {
  const url = readTarget(incoming);
  return url === null ? null : new NodeRequest(url, incoming, outgoing, open);
}

class NodeRequest implements HttpRequest {
  readonly url: string;
  readonly headers: HeaderFields;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  readonly #open: OpenUnfinished;
  #gone: AbortController | null = null;

  constructor(url: string, incoming: IncomingMessage, outgoing: ServerResponse, open: OpenUnfinished) {
    this.url = url;
    this.headers = new NodeHeaders(incoming.rawHeaders);
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#open = open;
  }

  get method(): string {
    return this.#incoming.method as string;
  }

  get signal(): AbortSignal {
    if (this.#gone === null) this.#gone = abortWhenGone(this.#outgoing);
    return this.#gone.signal;
  }

  watch(): Departure {
    const outgoing = this.#outgoing;
    const { socket } = outgoing;
    const departure: Departure = { isGone: outgoing.destroyed, onGone: null };
    const leave = () => {
      departure.isGone = true;
      if (!outgoing.writableFinished) departure.onGone?.();
    };
    socket?.setKeepAlive(true, HTTP_LIMITS.probeAfterMs);
    // Node ends its side too, and then no answer can be written.
    socket?.once('end', leave);
    outgoing.once('close', () => {
      socket?.off('end', leave);
      leave();
    });
    return departure;
  }

  get targetHost(): string | undefined {
    const { url = '' } = this.#incoming;
    return WHOLE_URL.test(url) ? URL.parse(url)?.host : undefined;
  }

  readBody(limit: number): Promise<Uint8Array | null> {
    return readStream(this.#incoming, limit, this.#open(this.#incoming));
  }
}

/**
 * Reads the whole body; `null` if it is larger than the limit. Some of the excess is read and discarded, so
 * that the client receives the response.
 */
export function readStream(
  incoming: Readable,
  limit: number,
  unfinished: Unfinished = UNBOUNDED,
): Promise<Uint8Array | null> {
  return new Promise((resolve, reject) => {
    const body = new Collected(limit);
    let size = 0;
    let isKept = true;
    const drop = () => {
      isKept = false;
      body.clear();
      unfinished.end();
    };
    incoming.on('data', (chunk: Uint8Array) => {
      size += chunk.length;
      if (size > HTTP_LIMITS.discardBytes) resolve(null);
      if (isKept && size > limit) drop();
      if (!isKept) return;
      if (unfinished.keep(size)) body.add(chunk);
      else {
        drop();
        reject(new RequestError('too_many_requests', TOO_MUCH_AT_ONCE));
      }
    });
    incoming.on('end', () => {
      const bytes = size > limit ? null : body.bytes;
      unfinished.end();
      resolve(bytes);
    });
    incoming.on('error', reject);
    // The client has disconnected, or was too slow.
    incoming.on('close', () => {
      unfinished.end();
      reject(new Error('The body is not complete.'));
    });
  });
}

const TOO_MUCH_AT_ONCE =
  'Too many large requests are under way at once, from this address or in all. Try again in a moment.';

const NOTHING = new Uint8Array();

/** Bytes that arrive in parts, up to a limit. Parts that are kept apart may take far more memory. */
class Collected {
  readonly #limit: number;
  #bytes: Uint8Array = NOTHING;
  #length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  add(part: Uint8Array): void {
    const length = this.#length + part.length;
    if (this.#length === 0) this.#bytes = part;
    else {
      if (length > this.#bytes.length) this.#grow(Math.min(2 * length, this.#limit));
      this.#bytes.set(part, this.#length);
    }
    this.#length = length;
  }

  clear(): void {
    this.#bytes = NOTHING;
    this.#length = 0;
  }

  #grow(length: number): void {
    const grown = new Uint8Array(length);
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}

function abortWhenGone(outgoing: ServerResponse): AbortController {
  const gone = new AbortController();
  const look = () => {
    if (!outgoing.writableFinished) gone.abort(new Error('The client is gone.'));
  };
  if (outgoing.destroyed) look();
  else outgoing.once('close', look);
  return gone;
}

class NodeHeaders implements HeaderFields {
  /** Names and values in turn. */
  readonly #raw: readonly string[];

  constructor(raw: readonly string[]) {
    this.#raw = raw;
  }

  get(name: string): string | null {
    let found: string | null = null;
    for (let index = 0; index < this.#raw.length; index += 2) {
      const other = this.#raw[index] as string;
      if (other.length !== name.length || other.toLowerCase() !== name) continue;
      const value = this.#raw[index + 1] as string;
      found = found === null ? value : `${found}${name === 'cookie' ? '; ' : ', '}${value}`;
    }
    return found;
  }

  *[Symbol.iterator](): Generator<readonly [string, string]> {
    const names = this.#raw.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    for (const name of new Set(names)) yield [name, this.get(name) as string];
  }
}

/** No escapes but the usual ones, and nothing that a URL normalizes. */
const PLAIN_TARGET = /^\/[!#$&-;=?-[\]_a-z~]*$/;
const DOT_SEGMENT = /\/\.\.?(?:[/?#]|$)/;

const WHOLE_URL = /^https?:\/\//;

/** The path and the query; `null` if they or the host are not valid. */
function readTarget({ url = '', headers: { host = '' } }: IncomingMessage): string | null {
  if (WHOLE_URL.test(url)) return normalize(url, url);
  const name = host === '' ? 'localhost' : host;
  if (isPlainHost(name) && PLAIN_TARGET.test(url) && !DOT_SEGMENT.test(url)) return url;
  return url.startsWith('/') && isHost(name) ? normalize(`http://${name}${url}`, url) : null;
}

function isHost(name: string): boolean {
  const parsed = URL.parse(`http://${name}/`);
  return parsed !== null && parsed.hostname === name.toLowerCase().replace(/:\d*$/, '');
}

/** A URL takes a backslash for a slash; clients that send one mean something else. */
function normalize(address: string, target: string): string | null {
  if ((target.split('?', 1)[0] as string).includes('\\')) return null;
  const parsed = URL.parse(address);
  return parsed === null ? null : `${parsed.pathname}${parsed.search}`;
}
