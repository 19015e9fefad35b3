import { NotSentError } from '../environment.ts';

const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** What `fetch` throws: in Node and Deno the reason is in its cause, in Bun it is the error itself. */
export interface Failure extends Error {
  readonly code?: unknown;
  readonly cause?: Failure;
}

/** A `NotSentError` if there was no connection. */
export function explainFailure(error: Failure): Error {
  const { code, message } = error.cause ?? error;
  // A DOMException has a number.
  const name = typeof code === 'string' ? code : null;
  const reason = name ?? message;
  if (name === null ? isDenoConnect(message) : NOT_CONNECTED.has(name)) {
    return new NotSentError(reason, { cause: error });
  }
  return new Error(reason, { cause: error });
}

/** Deno has no codes, but names the step that failed. */
function isDenoConnect(message: string): boolean {
  return message.includes('client error (Connect)');
}
