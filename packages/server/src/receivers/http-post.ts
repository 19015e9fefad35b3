import { type IncomingMessage, request as requestPlainly } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { type BlockList, connect as connectPlainly, isIP, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import type { Delivery } from './event-receiver.ts';
import { reasonOf } from './reason.ts';

interface PostOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
  readonly refused: BlockList;
  /** For the whole request. */
  readonly timeoutMs: number;
  /** Aborts requests when the server stops. */
  readonly signal: AbortSignal;
}

/** An answer is ignored, but read so that the receiver can finish. */
const MAX_ANSWER_BYTES = 64 * 1024;

const GONE = 410;

/**
 * Posts JSON once. A failure is a result, not an exception. It tells only the status of the answer: whoever
 * has set the URL might not be allowed to read more.
 */
export async function postJson(options: PostOptions): Promise<Delivery> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]);
  try {
    const response = await send(options, signal);
    await readStart(response);
    return judge(response.statusCode ?? 0);
  } catch (error) {
    if (options.signal.aborted) return { kind: 'stopping' };
    return { kind: 'failed', reason: reasonOf(signal.aborted ? signal.reason : error) };
  }
}

/** Follows no redirects: events only go to the configured address. */
function send(options: PostOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const { url, headers, body } = options;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = (url.startsWith('https:') ? requestSecurely : requestPlainly)(url, {
    method: 'POST',
    // A stale kept-alive connection would cost an attempt.
    headers: { 'content-type': 'application/json', connection: 'close', ...headers },
    createConnection: () => connect(options),
    signal,
  });
  request.on('response', resolve).on('error', reject).end(body);
  return promise;
}

/** Node checks the address that it is about to connect to, but not that of a socket that TLS makes. */
function connect({ url, refused }: PostOptions): Socket {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const isPlain = protocol === 'http:';
  const socket = connectPlainly({ host, port: Number(port) || (isPlain ? 80 : 443), blockList: refused });
  if (isPlain) return socket;
  const secured = connectSecurely({ socket, host, ...(isIP(host) === 0 ? { servername: host } : {}) });
  socket.on('error', (error) => secured.destroy(error));
  return secured.once('close', () => socket.destroy());
}

/** The status is known: a failure of the rest does not matter. */
async function readStart(response: IncomingMessage): Promise<void> {
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) break;
    }
  } catch {}
}

function judge(status: number): Delivery {
  if (status >= 200 && status < 300) return { kind: 'delivered', status };
  if (status === GONE) return { kind: 'gone', status };
  return { kind: 'failed', reason: `it answered with status ${status}`, status };
}
