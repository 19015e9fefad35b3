import { Agent, type IncomingMessage, type RequestOptions, request as sendPlainly } from 'node:http';
import { request as sendSecurely, Agent as TlsAgent } from 'node:https';
import type { WireAnswer, WireRequest } from '../environment.ts';
import { readCertificates } from './certificates.ts';
import { explainFailure, type Failure } from './explain-failure.ts';

/** Connections are kept for the next request; not in Deno, which cannot end a request on a kept one. */
const keepAlive = !('Deno' in globalThis);
/** No proxy, whatever the variables say: license servers are in the network of the company. */
const DIRECT = { keepAlive, proxyEnv: {} };
const PLAIN = { send: sendPlainly, agent: new Agent(DIRECT) };
const SECURE = { send: sendSecurely, agent: new TlsAgent(DIRECT) };
/** More than any answer of Berth. */
const LONGEST_ANSWER = 8 * 1024 * 1024;

export async function sendByNode(request: WireRequest): Promise<WireAnswer> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error('no answer in time')), Math.ceil(request.timeoutMs));
  const signal = AbortSignal.any([late.signal, ...(request.signal === undefined ? [] : [request.signal])]);
  try {
    return await exchange(request, signal).catch((error: Failure) => {
      if (error.isStale !== true) throw error;
      return exchange(request, signal);
    });
  } catch (error) {
    throw explainFailure(error as Failure, request.url);
  } finally {
    clearTimeout(timer);
  }
}

function exchange(request: WireRequest, signal: AbortSignal): Promise<WireAnswer> {
  const { url, headers, method = 'POST', tls = {} } = request;
  const { send, agent } = url.startsWith('https:') ? SECURE : PLAIN;
  return new Promise((resolve, reject) => {
    const options: RequestOptions = { method, headers, agent, ...readCertificates(tls) };
    const sent = send(url, options, (response) => readAll(response).then(resolve, reject));
    sent.on('error', (error: Failure) => {
      // The server has closed a kept connection meanwhile. If not, repeating a request is safe.
      const isStale = sent.reusedSocket && error.code === 'ECONNRESET';
      reject(isStale ? Object.assign(error, { isStale }) : error);
    });
    signal.addEventListener('abort', () => sent.destroy(signal.reason as Error));
    sent.end(method === 'GET' ? undefined : request.body);
  });
}

async function readAll(response: IncomingMessage): Promise<WireAnswer> {
  const { statusCode = 0, headers } = response;
  let text = '';
  for await (const part of response.setEncoding('utf8')) {
    text += part;
    if (text.length > LONGEST_ANSWER) throw new Error('The answer is too long');
  }
  const { date = null, 'retry-after': retryAfter = null, 'preference-applied': applied = null } = headers;
  return { status: statusCode, text, date, retryAfter, applied: String(applied) };
}
