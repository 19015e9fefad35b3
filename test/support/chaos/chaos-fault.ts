/** Alternating names and values, with the order and spelling of the wire. */
export type RawHeaders = readonly string[];

export interface Request {
  readonly method: string;
  /** With the query. */
  readonly target: string;
  readonly headers: RawHeaders;
  readonly body: Buffer;
}

/** A response. Its headers contain the length of the body, unless it has none. */
export interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: RawHeaders;
  readonly body: Buffer;
}

/** The facts about a request from which a plan selects a fault. */
interface ChaosRequest {
  /** Counts from 0 since the proxy started. */
  readonly n: number;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly body: string;
}

/** A response made by the proxy. A body is declared as JSON by default; without one, it is an HTML page. */
export interface MadeUpStatus {
  readonly code: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Fault =
  /** Forwards the request and its response. */
  | { readonly kind: 'pass' }
  /** Closes the connection: before reading anything if it is the whole plan, otherwise like `cut_before`. */
  | { readonly kind: 'refuse' }
  /** The same with a reset (RST). */
  | { readonly kind: 'reset' }
  /** Reads the request, then closes without forwarding it. */
  | { readonly kind: 'cut_before' }
  /** Closes after the target has responded: the target has counted, but the caller does not know. */
  | { readonly kind: 'cut_after' }
  /** Closes after half of the body or, if there is none, half of the head. */
  | { readonly kind: 'cut_within' }
  /** Neither forwards nor responds, until one side closes. */
  | { readonly kind: 'hang' }
  /** Forwards, but does not respond until one side closes. */
  | { readonly kind: 'hang_after' }
  /** Forwards when the promise resolves, even if the caller has disconnected. */
  | { readonly kind: 'delay'; readonly untilReleased: Promise<unknown> }
  /** Forwards immediately, but responds when the promise resolves. */
  | { readonly kind: 'late'; readonly untilReleased: Promise<unknown> }
  /** Sends the response byte by byte. */
  | { readonly kind: 'drip' }
  /** Responds with something other than HTTP. */
  | { readonly kind: 'garbage' }
  /** Responds with 200 and binary data declared as JSON. */
  | { readonly kind: 'garbage_body' }
  /** Responds with 200 and unexpected JSON. */
  | { readonly kind: 'wrong_json'; readonly body?: unknown }
  /** Responds with 200 and a body of 64 MiB, without declaring its length. */
  | { readonly kind: 'huge' }
  /** Declares 10 GiB, sends 64 MiB and closes. */
  | { readonly kind: 'huge_declared' }
  /** Forwards; changes one character of the signature, if there is one. */
  | { readonly kind: 'wrong_signature' }
  /** Forwards; removes the signature. */
  | { readonly kind: 'no_signature' }
  /** Forwards; changes the first digit of the body, or the first one after a text. Keeps the signature. */
  | { readonly kind: 'changed_body'; readonly after?: string }
  /** Responds with a status without forwarding. */
  | ({ readonly kind: 'status' } & MadeUpStatus)
  /** Forwards, but responds with a status instead of the target's response. */
  | ({ readonly kind: 'status_after' } & MadeUpStatus)
  /** Redirects the caller without forwarding; 307 by default. */
  | { readonly kind: 'redirect'; readonly location: string; readonly code?: 301 | 302 | 303 | 307 | 308 }
  /** Forwards twice in sequence and returns the second response. */
  | { readonly kind: 'duplicate' }
  /** Removes a key from a JSON object before forwarding it; other bodies stay unchanged. */
  | { readonly kind: 'strip'; readonly field: string }
  /** Lets the test decide, which forwards what it wants. `null` closes the connection. */
  | { readonly kind: 'meddle'; readonly answer: (request: Request) => Promise<Answer | null> };

/** Selects a fault for each request; a single fault applies to all. */
export type ChaosPlan = Fault | ((request: ChaosRequest) => Fault);
