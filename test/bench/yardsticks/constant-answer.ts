import { connect } from 'node:net';

/** An answer as it was sent, a character for each byte: the head with its empty line, and the body. */
export interface ConstantAnswer {
  readonly head: string;
  readonly body: string;
}

/** What a server sends in answer to these bytes. */
export async function recordAnswer(port: number, request: string): Promise<ConstantAnswer> {
  const socket = connect(port, '127.0.0.1');
  try {
    socket.write(request);
    let text = '';
    for await (const chunk of socket.setEncoding('latin1')) {
      text += chunk;
      const end = text.indexOf('\r\n\r\n') + 4;
      const length = Number(/^content-length: (\d+)/im.exec(text.slice(0, end))?.[1]);
      if (end >= 4 && text.length >= end + length) return { head: text.slice(0, end), body: text.slice(end) };
    }
    throw new Error('The server closed the connection before it had answered.');
  } finally {
    socket.destroy();
  }
}
