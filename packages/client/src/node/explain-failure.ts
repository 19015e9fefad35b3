import { NotSentError } from '../environment.ts';

const NOT_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

const NO_TLS = 'There is no TLS at the address: check it, or begin it with http://.';
/** Node calls it `EPROTO`. */
const NO_TLS_MESSAGE = /wrong version number|packet length too long/;
const UNKNOWN_CA =
  'The authority of the certificate is not known here. Give its certificate as "ca", or start the program ' +
  'with NODE_EXTRA_CA_CERTS=FILE.';

/** What to do about failed TLS, by code. */
const TLS_ADVICE: Readonly<Record<string, string>> = {
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_CA,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CA,
  ERR_TLS_CERT_ALTNAME_INVALID: 'Give the address with the name of the host that is in its certificate.',
};
/** Servers that require a certificate say so in different ways, and only after the connection is made. */
const NO_CERTIFICATE = 'The server accepts only programs with a certificate. Give "cert" and "key".';
/** A server with TLS closes the connection after a plain request, but so do others. */
const CLOSED = 'Check the network. If the server uses TLS, begin its address with https://.';
const CLOSED_TLS =
  'Check the network. If the server accepts only programs with a certificate, give "cert" and "key".';

const ENDS = /^(ECONNRESET|EPIPE|HPE_\w+)$/;

/** What a request fails with. */
export interface Failure extends Error {
  readonly code?: string;
  /** Whether it was the end of a connection that was kept. */
  readonly isStale?: boolean;
}

/** A `NotSentError` if there was no connection. */
export function explainFailure(error: Failure, url: string): Error {
  if (error instanceof NotSentError) return error;
  const { code, message } = error;
  const reason = NO_TLS_MESSAGE.test(message) ? 'ERR_SSL_WRONG_VERSION_NUMBER' : String(code ?? message);
  const advice = TLS_ADVICE[reason];
  if (NOT_CONNECTED.has(reason) || advice !== undefined) {
    return Object.assign(new NotSentError(reason, { cause: error }), { advice });
  }
  const advised = adviseOnEnd(reason, url);
  return Object.assign(new Error(reason, { cause: error }), advised === undefined ? {} : { advice: advised });
}

function adviseOnEnd(reason: string, url: string): string | undefined {
  if (/ALERT_(CERTIFICATE_REQUIRED|BAD_CERTIFICATE|HANDSHAKE_FAILURE)$/.test(reason)) return NO_CERTIFICATE;
  if (!ENDS.test(reason)) return undefined;
  return url.startsWith('https:') ? CLOSED_TLS : CLOSED;
}
