/** The headers of a request. Names are in lower case; a repeated header is one value, joined with commas. */
export interface HeaderFields extends Iterable<readonly [name: string, value: string]> {
  get(name: string): string | null;
}

/** A request without its body: enough to decide who may send it. A `Request` is one. */
export interface RequestHead {
  readonly method: string;
  readonly headers: HeaderFields;
}

/** The head of a request that the fast lane has read. */
export interface PlainHead extends RequestHead {
  readonly path: string;
  readonly bodyBytes: number;
}
