/** Names and values by turns, in the order and the spelling of the wire. */
export type RawHeaders = readonly string[];

export interface Request {
  readonly method: string;
  /** With the query. */
  readonly target: string;
  readonly headers: RawHeaders;
  readonly body: Buffer;
}

/** An answer; its headers say how long the body is, unless it has none. */
export interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: RawHeaders;
  readonly body: Buffer;
}

/** What a chaos proxy knows of a request when it is asked for a fault. */
export interface ChaosRequest {
  /** Counts from 0 over the life of the proxy. */
  readonly n: number;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly body: string;
}

/** An answer that comes from the proxy, with a page of its own unless a body (JSON, by default) is given. */
export interface MadeUpStatus {
  readonly code: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Fault =
  /** Forwards the request and its answer. */
  | { readonly kind: 'pass' }
  /** Closes the connection: before anything is read if it is the whole plan, otherwise as `cut_before`. */
  | { readonly kind: 'refuse' }
  /** The same with a reset (RST). */
  | { readonly kind: 'reset' }
  /** Reads the request, forwards nothing and closes. */
  | { readonly kind: 'cut_before' }
  /** Closes without a byte when the target has answered: it has counted, and the caller never hears of it. */
  | { readonly kind: 'cut_after' }
  /** Closes after half of the body; of an answer without one, after half of the head. */
  | { readonly kind: 'cut_within' }
  /** Forwards nothing and answers nothing, until one side closes. */
  | { readonly kind: 'hang' }
  /** Forwards, and answers nothing until one side closes. */
  | { readonly kind: 'hang_after' }
  /** Forwards when the promise is fulfilled, even if the caller has gone by then. */
  | { readonly kind: 'delay'; readonly untilReleased: Promise<unknown> }
  /** Forwards at once, and answers when the promise is fulfilled. */
  | { readonly kind: 'late'; readonly untilReleased: Promise<unknown> }
  /** Sends the answer byte by byte. */
  | { readonly kind: 'drip' }
  /** Answers something that is no HTTP. */
  | { readonly kind: 'garbage' }
  /** Answers 200 and calls JSON what is none, nor even text. */
  | { readonly kind: 'garbage_body' }
  /** Answers 200 and JSON that nobody expects. */
  | { readonly kind: 'wrong_json'; readonly body?: unknown }
  /** Answers 200 and a body that ends after 64 MiB only, without saying so first. */
  | { readonly kind: 'huge' }
  /** Announces 10 GiB, sends 64 MiB and closes. */
  | { readonly kind: 'huge_declared' }
  /** Forwards; changes one character of the signature, if the answer has one. */
  | { readonly kind: 'wrong_signature' }
  /** Forwards; leaves the signature out. */
  | { readonly kind: 'no_signature' }
  /** Forwards; changes the first digit of the body, or the first one after a text. The signature stays. */
  | { readonly kind: 'changed_body'; readonly after?: string }
  /** Answers a status without forwarding. */
  | ({ readonly kind: 'status' } & MadeUpStatus)
  /** Forwards, and answers a status in place of what the target said. */
  | ({ readonly kind: 'status_after' } & MadeUpStatus)
  /** Sends the caller elsewhere without forwarding; 307 by default. */
  | { readonly kind: 'redirect'; readonly location: string; readonly code?: 301 | 302 | 303 | 307 | 308 }
  /** Forwards twice, one after the other, and gives back the second answer. */
  | { readonly kind: 'duplicate' }
  /** Forwards a JSON object without one of its keys; any other body as it is. */
  | { readonly kind: 'strip'; readonly field: string }
  /** Leaves everything to the test, which forwards what it likes. `null` closes the connection. */
  | { readonly kind: 'meddle'; readonly answer: (request: Request) => Promise<Answer | null> };

/** Chooses a fault for each request; a fault alone holds for all of them. */
export type ChaosPlan = Fault | ((request: ChaosRequest) => Fault);
