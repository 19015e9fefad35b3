/** The headers of a request. Names are in lower case; a repeated header is one value, joined with commas. */
export interface HeaderFields extends Iterable<readonly [name: string, value: string]> {
  get(name: string): string | null;
}

export const NO_HEADERS: HeaderFields = {
  get: () => null,
  [Symbol.iterator]: () => [].values(),
};

/** A request without its body: enough to decide who may send it. */
export interface RequestHead {
  readonly method: string;
  readonly headers: HeaderFields;
  /** The host in its target, if that is a whole URL, as in requests to a proxy. */
  readonly targetHost?: string | undefined;
}

/** A request, however it arrived. */
export interface HttpRequest extends RequestHead {
  /** The path and the query. */
  readonly url: string;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
  /** For requests that may wait for long: costs less than `signal`. */
  watch?(): Departure;
  /** `null` for a body that is larger. */
  readBody(limit: number): Promise<Uint8Array | null> | Uint8Array | null;
}

/** Whether the client is gone, and what to do when it goes. */
export interface Departure {
  isGone: boolean;
  onGone: (() => void) | null;
}

/** The connection of a request. */
export interface Peer {
  /** The remote address of the connection. */
  readonly address: string;
  /** It came over the socket in the data folder, not over the network. */
  readonly isControl: boolean;
  /** It came over TLS, to this server or to a trusted proxy. */
  readonly isSecure?: boolean;
  /** The name in the client's certificate, if it is trusted. */
  readonly certificate?: string | null;
  /** It is HTTP/1.0, which is almost only used between proxies and servers. */
  readonly isHttp10?: boolean;
}
