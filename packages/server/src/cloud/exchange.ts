import { MAX_LICENSE_BYTES } from '@berth/protocol/carried/license-size';
import { CloudFault, type CloudFaultReason } from './cloud.ts';

/** One request to the cloud, with its limits. */
interface Exchange {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface CloudResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
}

/** No answer is larger than a license. */
const MAX_ANSWER_BYTES = MAX_LICENSE_BYTES;

/**
 * Sends a request and reads the whole answer, with limits on time and size. It does not follow redirects:
 * keys and licenses only go to the configured address. Every failure becomes a `CloudFault` that says what
 * to check.
 */
export async function exchange(request: Exchange): Promise<CloudResponse> {
  const response = await send(request);
  const { status, headers } = response;
  if (status >= 300 && status < 400) {
    await response.body?.cancel();
    throw fault(
      'redirect',
      `The licensing cloud redirects (status ${status}). Set cloud.url to its actual address.`,
    );
  }
  const bytes = await readBounded(response);
  if (status >= 500) {
    throw fault('server_error', `The licensing cloud has an internal error (status ${status}).`);
  }
  return { status, headers, bytes };
}

async function send({ url, method, headers, body, timeoutMs, signal }: Exchange): Promise<Response> {
  try {
    return await fetch(url, {
      method,
      // A stale kept-alive connection would look like a lost answer.
      headers: { ...headers, connection: 'close', 'accept-encoding': 'identity' },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
  } catch (error) {
    throw explain(error);
  }
}

async function readBounded(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw explain(error);
  }
  if (size <= MAX_ANSWER_BYTES) return Buffer.concat(chunks);
  throw fault('too_large', `The licensing cloud sent more than ${MAX_ANSWER_BYTES} bytes.`);
}

function fault(reason: CloudFaultReason, message: string, cause?: unknown): CloudFault {
  return new CloudFault(reason, message, { mayHaveArrived: true, cause });
}

/** Connection errors: the cloud has certainly not received the request. */
const NOT_REACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'its host name is unknown',
  EAI_AGAIN: 'its host name cannot be looked up',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'there is no network',
  UND_ERR_CONNECT_TIMEOUT: 'it does not answer',
};

/**
 * A certificate is checked before anything is sent. Other TLS errors can occur at any time, such as when an
 * answer is tampered with.
 */
const BAD_CERTIFICATE = /^(?!ERR_SSL_)\w*(CERT|CRL|CHAIN|ISSUER|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE))/;

function explain(error: unknown): CloudFault {
  if (error instanceof Error && error.name === 'AbortError') {
    return fault('stopping', 'The server is stopping.', error);
  }
  if (error instanceof Error && error.name === 'TimeoutError') {
    return fault('timeout', 'The licensing cloud did not answer in time.', error);
  }
  const code = codeOf(error);
  const reason = NOT_REACHED[code];
  if (reason !== undefined) {
    const message = `The licensing cloud cannot be reached: ${reason} (${code}).`;
    return new CloudFault('unreachable', message, { mayHaveArrived: false, cause: error });
  }
  if (BAD_CERTIFICATE.test(code)) {
    const message = `The certificate of the licensing cloud is not accepted (${code}).`;
    return new CloudFault('certificate', message, { mayHaveArrived: false, cause: error });
  }
  return fault(
    'broken_off',
    `The connection to the licensing cloud was lost (${code || 'no reason'}).`,
    error,
  );
}

/** The driver wraps the reason, sometimes twice. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const code = (error as NodeJS.ErrnoException).code;
  if (typeof code === 'string') return code;
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return codeOf(error.cause);
}
