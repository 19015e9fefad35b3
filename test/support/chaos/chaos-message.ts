import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request as openRequest } from 'node:http';
import { SIGNATURE_HEADER } from '../../../packages/protocol/src/cloud/vendor-signature.ts';
import type { Answer, Fault, MadeUpStatus, RawHeaders, Request } from './chaos-fault.ts';

/** Headers of a single connection, which the proxy replaces: it forwards whole bodies. */
const OF_ONE_CONNECTION = ['connection', 'keep-alive', 'transfer-encoding'];
const ANNOUNCED_BYTES = 10 * 1024 ** 3;
const ENDLESS = ['Content-Type', 'application/json'];

/** Neither HTTP nor TLS, nor valid text. */
export const GARBAGE = Buffer.from('\xff\x00\x17 220 mail.example ESMTP\r\n\r\n\xfe\xfd', 'latin1');

function filterHeaders(headers: RawHeaders, keep: (name: string) => boolean): string[] {
  return headers.filter((_, index) => keep(String(headers[index - (index % 2)]).toLowerCase()));
}

function hasHeader(headers: RawHeaders, name: string): boolean {
  return headers.some((text, index) => index % 2 === 0 && text.toLowerCase() === name);
}

function frame(headers: RawHeaders, body: Buffer, mayHaveBody: boolean): string[] {
  const lasting = filterHeaders(headers, (name) => !OF_ONE_CONNECTION.includes(name));
  const length = mayHaveBody && !hasHeader(lasting, 'content-length');
  return [...lasting, ...(length ? ['Content-Length', String(body.length)] : []), 'Connection', 'close'];
}

/** Sends a request to the target and reads the whole response. */
export async function forward(url: string, request: Request, signal: AbortSignal): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const { method, target: path, body } = request;
  const headers = frame(request.headers, body, body.length > 0);
  const outgoing = openRequest({ hostname, port, method, path, headers, signal, agent: false });
  // The target may respond and close the connection before it has read everything; the response counts.
  outgoing.on('error', () => {});
  outgoing.end(body);
  const [incoming] = await once(outgoing, 'response');
  const received = Buffer.concat(await incoming.toArray());
  const mayHaveBody = method !== 'HEAD' && incoming.statusCode !== 204 && incoming.statusCode !== 304;
  return {
    status: incoming.statusCode,
    statusText: incoming.statusMessage,
    headers: frame(incoming.rawHeaders, received, mayHaveBody),
    body: received,
  };
}

function encodeHead({ status, statusText, headers }: Omit<Answer, 'body'>): Buffer {
  const fields = headers.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`));
  return Buffer.from(`HTTP/1.1 ${status} ${statusText}\r\n${fields.join('')}\r\n`, 'latin1');
}

export function encodeAnswer(answer: Answer): Buffer {
  return Buffer.concat([encodeHead(answer), answer.body]);
}

/** A response that ends in the middle of its body or, if it has none, of its head. */
export function encodeHalf(answer: Answer): Buffer {
  const head = encodeHead(answer);
  const { length } = answer.body;
  if (length === 0) return head.subarray(0, head.length / 2);
  return Buffer.concat([head, answer.body.subarray(0, length / 2)]);
}

/** The head of a response that is too large for any client to read. */
export function encodeHugeHead(isDeclared: boolean): Buffer {
  const length = isDeclared ? ['Content-Length', String(ANNOUNCED_BYTES)] : [];
  const headers = [...ENDLESS, ...length, 'Connection', 'close'];
  return encodeHead({ status: 200, statusText: 'OK', headers });
}

function makeAnswer(status: number, headers: RawHeaders, body: Buffer): Answer {
  return { status, statusText: 'Chaos', headers: frame(headers, body, true), body };
}

function makeJsonAnswer(body: Buffer): Answer {
  return makeAnswer(200, ['Content-Type', 'application/json'], body);
}

/** An error as a gateway between the caller and the target would send it. */
function makeStatus({ code, body, headers = {} }: MadeUpStatus): Answer {
  const type = body === undefined ? 'text/html' : 'application/json';
  const all = Object.entries({ 'Content-Type': type, ...headers }).flat();
  return makeAnswer(code, all, Buffer.from(body ?? `<html><body><h1>${code}</h1></body></html>\n`));
}

/** The response to a fault that does not involve the target; null for other faults. */
export function makeUpAnswer(fault: Fault, n: number): Answer | null {
  switch (fault.kind) {
    case 'status':
      return makeStatus(fault);
    case 'redirect':
      return makeAnswer(fault.code ?? 307, ['Location', fault.location], Buffer.alloc(0));
    case 'garbage_body':
      return makeJsonAnswer(
        Buffer.concat([Buffer.from([0xff]), createHash('sha512').update(`${n}`).digest()]),
      );
    case 'wrong_json': {
      const { body = [{ unexpected: [null, -1, 'text'] }] } = fault;
      return makeJsonAnswer(Buffer.from(JSON.stringify(body)));
    }
    default:
      return null;
  }
}

/** Removes headers from a request. */
export function hideHeaders(request: Request, hidden: readonly string[]): Request {
  const names = hidden.map((name) => name.toLowerCase());
  return { ...request, headers: filterHeaders(request.headers, (name) => !names.includes(name)) };
}

/** The request as the target receives it. */
export function changeRequest(fault: Fault, request: Request): Request {
  if (fault.kind !== 'strip') return request;
  const json = parseObject(request.body);
  if (json === null || !(fault.field in json)) return request;
  delete json[fault.field];
  const headers = filterHeaders(request.headers, (name) => name !== 'content-length');
  return { ...request, headers, body: Buffer.from(JSON.stringify(json)) };
}

function parseObject(body: Buffer): Record<string, unknown> | null {
  try {
    const json = JSON.parse(body.toString());
    return typeof json === 'object' && !Array.isArray(json) ? json : null;
  } catch {
    return null;
  }
}

/** The response as the caller receives it. */
export function changeAnswer(fault: Fault, answer: Answer): Answer {
  switch (fault.kind) {
    case 'wrong_signature':
      return { ...answer, headers: spoilSignature(answer.headers) };
    case 'no_signature':
      return { ...answer, headers: filterHeaders(answer.headers, (name) => !isSignature(name)) };
    case 'changed_body':
      return { ...answer, body: changeDigit(answer.body, fault.after ?? '') };
    case 'status_after':
      return makeStatus(fault);
    default:
      return answer;
  }
}

function isSignature(name: string | undefined): boolean {
  return name?.toLowerCase() === SIGNATURE_HEADER.toLowerCase();
}

/** Changes the first character, because the last one of a base64 text may contain unused bits. */
function spoilSignature(headers: RawHeaders): string[] {
  return headers.map((text, index) => {
    if (index % 2 === 0 || !isSignature(headers[index - 1])) return text;
    return (text.startsWith('A') ? 'B' : 'A') + text.slice(1);
  });
}

/** Never writes 0, because a number must not start with it. */
function changeDigit(body: Buffer, after: string): Buffer {
  const text = body.toString('latin1');
  const marker = Buffer.from(after).toString('latin1');
  const found = text.indexOf(marker);
  if (found < 0) return body;
  const from = found + marker.length;
  const changed = text.slice(from).replace(/\d/, (digit) => String((Number(digit) % 9) + 1));
  return Buffer.from(text.slice(0, from) + changed, 'latin1');
}
