import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { TLS_HEADERS } from '@berth/protocol/cloud/tls-options';
import { HTTP_LIMITS } from './limits.ts';
import { headersOf, type Reply } from './reply.ts';

/** Writes a reply as Node would. Returns whether the client reads fast enough to take another one. */
export type WriteReply = (socket: Socket, reply: Reply) => boolean;

interface WriterOptions {
  readonly isTls: boolean;
  readonly readWall: () => number;
}

const KEPT_SECONDS = HTTP_LIMITS.keepAliveTimeoutMs / 1000;
const KEEP_ALIVE = `Connection: keep-alive\r\nKeep-Alive: timeout=${KEPT_SECONDS}\r\n\r\n`;

export function createReplyWriter({ isTls, readWall }: WriterOptions): WriteReply {
  const makeHead = (reply: Reply): string => {
    const all = { ...(isTls ? Object.fromEntries(TLS_HEADERS) : {}), ...headersOf(reply) };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}\r\n${lines.join('')}`;
  };
  const heads = new Map<string, string>();
  const findHead = (reply: Reply): string => {
    if (reply.headers !== undefined) return makeHead(reply);
    const key = `${reply.status} ${reply.type}`;
    const head = heads.get(key) ?? makeHead(reply);
    heads.set(key, head);
    return head;
  };
  const readDate = createDateLine(readWall);
  return (socket, reply) => {
    const { body } = reply;
    if (body !== null && typeof body !== 'string') throw new Error('Only a text can be sent like this.');
    const text = body ?? '';
    const length = reply.isAscii === true ? text.length : Buffer.byteLength(text);
    const head = `${findHead(reply)}Content-Length: ${length}\r\n${readDate()}${KEEP_ALIVE}`;
    // Text without other characters needs no conversion.
    return socket.write(head + text, length === text.length ? 'latin1' : 'utf8');
  };
}

const SECOND_MS = 1000;

/** The Date header, which is made once a second. */
function createDateLine(readWall: () => number): () => string {
  let second = Number.NaN;
  let line = '';
  return () => {
    const now = Math.floor(readWall() / SECOND_MS);
    if (now === second) return line;
    second = now;
    line = `Date: ${new Date(now * SECOND_MS).toUTCString()}\r\n`;
    return line;
  };
}

const NO_CONTENT = 204;

/** Writes a reply to a request that Node has read. */
export async function sendReply(outgoing: ServerResponse, reply: Reply): Promise<void> {
  const { status, body } = reply;
  const isStream = body instanceof globalThis.ReadableStream;
  const hasLength = !isStream && status !== NO_CONTENT;
  const length = hasLength ? { 'Content-Length': body === null ? 0 : Buffer.byteLength(body) } : {};
  outgoing.writeHead(status, { ...headersOf(reply), ...length });
  if (!isStream) {
    outgoing.end(body);
    return;
  }
  if (outgoing.req.method === 'HEAD') {
    await body.cancel();
    outgoing.end();
    return;
  }
  // The first part may take long.
  outgoing.flushHeaders();
  // If either side fails, close the other: the client must not mistake a part for the whole.
  await pipeline(Readable.fromWeb(body as ReadableStream), outgoing).catch(() => {});
}
