import { createServer, type Server, type Socket } from 'node:net';
import type { ConstantAnswer } from './constant-answer.ts';

/** Visible characters only, no folding, nothing that changes where the body ends but one plain length. */
const HEAD = /^POST \/[!-~]* HTTP\/1\.1\r\n(?:[!-9;-~]+:[ -~]*\r\n)*$/;
const LENGTH = /^content-length: *(\d{1,5}) *$/gim;
const OTHER_FRAMING = /^(?:transfer-encoding|upgrade|expect):/im;
const HEAD_END = Buffer.from('\r\n\r\n');
const DATE = /^Date: .*$/m;

/** How long the body is that follows this head; `null`: it is not the plain form. */
function readLength(head: string): number | null {
  const lengths = [...head.matchAll(LENGTH)];
  if (!HEAD.test(head) || OTHER_FRAMING.test(head) || lengths.length !== 1) return null;
  return Number(lengths[0]?.[1]);
}

/** Answers every complete request in the bytes and returns what is left; `null`: it is not the plain form. */
function answerAll(bytes: Buffer, socket: Socket, answer: string): Buffer | null {
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf(HEAD_END);
    if (end < 0) return rest;
    const length = readLength(rest.toString('latin1', 0, end + 2));
    if (length === null) return null;
    const bodyAt = end + HEAD_END.length;
    if (rest.length < bodyAt + length) return rest;
    JSON.parse(rest.toString('utf8', bodyAt, bodyAt + length));
    socket.write(answer, 'latin1');
    rest = rest.subarray(bodyAt + length);
  }
}

/** The same on bare sockets, with a parser that takes only the plain form of a request. */
export function createBareNet({ head, body }: ConstantAnswer): Server {
  const textNow = () => head.replace(DATE, `Date: ${new Date().toUTCString()}`) + body;
  let text = textNow();
  const clock = setInterval(() => {
    text = textNow();
  }, 1000);
  const server = createServer({ noDelay: true }, (socket) => {
    let rest: Buffer = Buffer.alloc(0);
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      const left = answerAll(rest.length === 0 ? chunk : Buffer.concat([rest, chunk]), socket, text);
      if (left === null) socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
      else rest = left;
    });
  });
  return server.on('close', () => clearInterval(clock));
}
