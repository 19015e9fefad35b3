import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { TLS_HEADERS } from '@berth/protocol/cloud/tls-options';
import { LIMITS } from '../../config.ts';
import { HEADERS, type Reply } from '../reply/reply.ts';

/** Writes a response as Node would. Returns whether the client reads fast enough to take another one. */
export type WriteReply = (socket: Socket, reply: Reply) => boolean;

interface WriterOptions {
  readonly isTls: boolean;
  readonly readWall: () => number;
}

const KEEP_ALIVE = `Connection: keep-alive\r\nKeep-Alive: timeout=${LIMITS.keepAliveTimeoutMs / 1000}\r\n\r\n`;

export function createReplyWriter({ isTls, readWall }: WriterOptions): WriteReply {
  const makeHead = ({ status, type, headers }: Reply): string => {
    const all = { ...(isTls ? Object.fromEntries(TLS_HEADERS) : {}), ...HEADERS[type], ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}`;
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
    const length = Buffer.byteLength(text);
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
