import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { LIMITS } from '../../config.ts';
import type { HeaderFields, HttpRequest } from '../http-request.ts';
import { isPlainHost } from './plain-request.ts';

/** A request that Node has read; `null` if its URL or its Host header is not valid. */
export function nodeRequest(incoming: IncomingMessage, outgoing: ServerResponse): HttpRequest | null {
  const url = readTarget(incoming);
  return url === null ? null : new NodeRequest(url, incoming, outgoing);
}

class NodeRequest implements HttpRequest {
  readonly url: string;
  readonly headers: HeaderFields;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  #gone: AbortController | null = null;

  constructor(url: string, incoming: IncomingMessage, outgoing: ServerResponse) {
    this.url = url;
    this.headers = new NodeHeaders(incoming.rawHeaders);
    this.#incoming = incoming;
    this.#outgoing = outgoing;
  }

  get method(): string {
    return this.#incoming.method as string;
  }

  get signal(): AbortSignal {
    if (this.#gone === null) this.#gone = abortWhenGone(this.#outgoing);
    return this.#gone.signal;
  }

  readBody(limit: number): Promise<Uint8Array | null> {
    return readStream(this.#incoming, limit);
  }
}

/**
 * Reads all of it, or `null` if it is larger. Too much is read and discarded for a while, so that the client
 * receives the response. The rest is discarded without waiting for it.
 */
export function readStream(incoming: Readable, limit: number): Promise<Uint8Array | null> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    incoming.on('data', (chunk: Uint8Array) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else if (size > LIMITS.discardBytes) resolve(null);
    });
    incoming.on('end', () => resolve(size > limit ? null : Buffer.concat(chunks)));
    incoming.on('error', reject);
    // The client has disconnected, or was too slow.
    incoming.on('close', () => reject(new Error('The body is not complete.')));
  });
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

/** The path and the query; `null` if they or the host are not valid. */
function readTarget({ url = '', headers: { host = '' } }: IncomingMessage): string | null {
  if (/^https?:\/\//.test(url)) return normalize(url, url);
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
