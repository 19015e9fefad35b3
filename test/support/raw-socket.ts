import { connect, type Socket } from 'node:net';

/** A response as parsed from a raw socket. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export function openSocket(url: string): Socket {
  const { hostname, port } = new URL(url);
  return connect({ host: hostname, port: Number(port) });
}

/** Sends raw bytes and reads one response, which may be incomplete if the server closes the connection. */
export function exchange(url: string, ...pieces: (string | Uint8Array)[]): Promise<RawAnswer> {
  const socket = openSocket(url);
  for (const piece of pieces) socket.write(piece);
  return readAnswerFrom(socket);
}

export function readAnswerFrom(socket: Socket): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      received += text;
      const answer = parseAnswer(received);
      if (answer !== null && isWhole(answer)) socket.destroy();
    });
    // The server may close the connection before it has read everything; its response counts.
    socket.on('error', () => {});
    socket.on('close', () => {
      const answer = parseAnswer(received);
      if (answer === null) reject(new Error(`The connection ended with this: "${received}"`));
      else resolve(answer);
    });
  });
}

/** Reads until the server closes the connection. */
export async function readToEnd(socket: Socket): Promise<string> {
  let received = '';
  socket.on('error', () => {});
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text;
  });
  // `once` would reject if the connection is reset.
  await new Promise((resolve) => socket.on('close', resolve));
  return received;
}

function parseAnswer(received: string): RawAnswer | null {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [first = '', ...lines] = received.slice(0, end).split('\r\n');
  const headers = new Headers(lines.map(parseLine));
  return { status: Number(first.split(' ')[1]), headers, text: received.slice(end + 4) };
}

function parseLine(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}

function isWhole({ headers, text }: RawAnswer): boolean {
  const length = headers.get('content-length');
  return length !== null && text.length >= Number(length);
}
