import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** One way of being slow. What it sends first, and what little it goes on with. */
export interface SlowKind {
  readonly name: string;
  readonly first: string | Uint8Array;
  readonly dribble: string;
  readonly reads: boolean;
  /** Before TLS is agreed upon. */
  readonly isRaw?: boolean;
}

const HEAD = 'Host: localhost\r\nContent-Type: application/json\r\n';

/** Answers of more bytes than the system holds for somebody who does not read. */
const MANY_REQUESTS = 96;

const SENDS_NOTHING: SlowKind = { name: 'sends nothing', first: '', dribble: '', reads: true };

const SENDS_HEADERS: SlowKind = {
  name: 'sends headers byte by byte',
  first: `GET / HTTP/1.1\r\n${HEAD}X-Slow: `,
  dribble: '0',
  reads: true,
};

const SENDS_BODY: SlowKind = {
  name: 'sends a body byte by byte',
  first: `POST /api/v4/register HTTP/1.1\r\n${HEAD}Content-Length: 60000\r\n\r\n`,
  dribble: '0',
  reads: true,
};

const READS_NOTHING: SlowKind = {
  name: 'sends requests, and reads nothing',
  first: `GET /api/v4/openapi.json HTTP/1.1\r\n${HEAD}\r\n`.repeat(MANY_REQUESTS),
  // Whoever does not read notices the end only when writing.
  dribble: '\r\n',
  reads: false,
};

/** Fewer of the last kind: each of them has megabytes of the machine's memory filled. */
export const SLOW_KINDS: readonly SlowKind[] = [
  ...Array.from({ length: 3 }, () => [SENDS_NOTHING, SENDS_HEADERS, SENDS_BODY]).flat(),
  READS_NOTHING,
];

/** The head of a message that begins a handshake, of which 512 bytes are announced. */
const HALF_A_HELLO = Buffer.from('1603010200010001fc0303', 'hex');

export const SLOW_HANDSHAKES: readonly SlowKind[] = [
  { name: 'begins no handshake', first: '', dribble: '', reads: true, isRaw: true },
  { name: 'shakes hands byte by byte', first: HALF_A_HELLO, dribble: '0', reads: true, isRaw: true },
];

export interface SlowClient {
  readonly kind: SlowKind;
  /** What it was told, if it has read anything. */
  readHeard(): string;
  /** Whether the server has cut it. */
  readonly wasCut: Promise<boolean>;
}

/** A connection that lives longer is never cut. The bounds themselves are in `LIMITS`. */
const DEADLINE_MS = 90_000;
const DRIBBLE_MS = 500;

/** Opens a connection and begins to be slow on it; the server has to cut it from then on. */
export async function openSlowClient(url: string, kind: SlowKind): Promise<SlowClient> {
  const { hostname: host, port, protocol } = new URL(url);
  const isTls = protocol === 'https:' && kind.isRaw !== true;
  const place = { host, port: Number(port) };
  const socket: Socket = isTls ? connectTls({ ...place, rejectUnauthorized: false }) : connect(place);
  let heard = '';
  if (kind.reads) {
    socket.setEncoding('latin1').on('data', (text: string) => {
      heard += text;
    });
  } else socket.pause();
  await once(socket, isTls ? 'secureConnect' : 'connect');
  socket.on('error', () => {});
  socket.write(kind.first);
  return { kind, readHeard: () => heard, wasCut: beSlow(socket, kind) };
}

function beSlow(socket: Socket, { dribble }: SlowKind): Promise<boolean> {
  const write = () => socket.writable && socket.write(dribble);
  // After what has come is read: a write to a connection that is cut would lose it.
  const timer = setInterval(() => setImmediate(write), DRIBBLE_MS);
  return new Promise<boolean>((resolve) => {
    const late = setTimeout(() => {
      resolve(false);
      socket.destroy();
    }, DEADLINE_MS);
    socket.once('close', () => {
      clearInterval(timer);
      clearTimeout(late);
      resolve(true);
    });
  });
}
