import { NotSentError } from '../environment.ts';

const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

const NO_TLS = 'There is no TLS at the address: check it, or begin it with http://.';
const UNKNOWN_CA =
  'The authority of the certificate is not known here. Start the program with NODE_EXTRA_CA_CERTS=FILE, ' +
  'the certificate of the authority as PEM.';

/** What to do about failed TLS, by code. */
const TLS_ADVICE: Readonly<Record<string, string>> = {
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_CA,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CA,
  ERR_TLS_CERT_ALTNAME_INVALID: 'Give the address with the name of the host that is in its certificate.',
};
/** A server with TLS closes the connection after a plain request, but so do others. */
const CLOSED = 'Check the network. If the server uses TLS, begin its address with https://.';

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
  const advice = TLS_ADVICE[reason];
  if (name === null ? isDenoConnect(message) : NOT_CONNECTED.has(name) || advice !== undefined) {
    return Object.assign(new NotSentError(reason, { cause: error }), { advice });
  }
  const advised = name === 'UND_ERR_SOCKET' ? { advice: CLOSED } : {};
  return Object.assign(new Error(reason, { cause: error }), advised);
}

/** Deno has no codes, but names the step that failed. */
function isDenoConnect(message: string): boolean {
  return message.includes('client error (Connect)');
}
