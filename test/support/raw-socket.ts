import { connect, type Socket } from 'node:net';

/** What came back over a socket, as a client that trusts nobody reads it. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A connection to the server at a URL. */
export function openSocket(url: string): Socket {
  const { hostname, port } = new URL(url);
  return connect({ host: hostname, port: Number(port) });
}

/** Sends bytes as they are and reads one whole answer, or what there is when the server hangs up. */
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
    // What the server has no use for may be cut off while it is being sent; its answer counts.
    socket.on('error', () => {});
    socket.on('close', () => {
      const answer = parseAnswer(received);
      if (answer === null) reject(new Error(`The connection ended with this: "${received}"`));
      else resolve(answer);
    });
  });
}

/** Everything that comes until the server hangs up. */
export async function readToEnd(socket: Socket): Promise<string> {
  let received = '';
  socket.on('error', () => {});
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text;
  });
  // Not with `once`, which fails where the end is a reset.
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
