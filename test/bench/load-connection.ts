import { connect, type Socket } from 'node:net';

const READ_BUFFER_BYTES = 16 * 1024;

interface ConnectionEvents {
  onAnswer(status: number): void;
  /** The connection ended, or what arrived is not an answer. */
  onBroken(reason: string): void;
}

/** One keep-alive connection with at most one request under way, and no more HTTP than that needs. */
export class LoadConnection {
  readonly #events: ConnectionEvents;
  readonly #socket: Socket;
  #status = 0;
  /** What has arrived of the head; empty while a body arrives. */
  #head = '';
  #bodyBytesLeft = 0;
  #isClosed = false;

  private constructor(port: number, events: ConnectionEvents) {
    this.#events = events;
    const buffer = Buffer.allocUnsafe(READ_BUFFER_BYTES);
    const callback = (size: number): boolean => {
      this.#take(buffer, size);
      return true;
    };
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true, onread: { buffer, callback } });
    this.#socket.on('error', (error) => this.#break(error.message));
    this.#socket.on('close', () => this.#break('The server closed the connection.'));
  }

  static open(port: number, events: ConnectionEvents): Promise<LoadConnection> {
    const connection = new LoadConnection(port, events);
    return new Promise((resolve, reject) => {
      connection.#socket.once('connect', () => resolve(connection));
      connection.#socket.once('error', reject);
    });
  }

  send(bytes: Uint8Array): void {
    if (!this.#isClosed) this.#socket.write(bytes);
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }

  #take(buffer: Buffer, size: number): void {
    if (this.#bodyBytesLeft > 0) this.#bodyBytesLeft -= size;
    else if (!this.#takeHead(buffer.toString('latin1', 0, size))) return;
    if (this.#bodyBytesLeft < 0) this.#break('The answer is longer than it says.');
    else if (this.#bodyBytesLeft === 0) this.#events.onAnswer(this.#status);
  }

  /** Answers whether the head is complete. */
  #takeHead(chunk: string): boolean {
    const text = this.#head + chunk;
    const end = text.indexOf('\r\n\r\n');
    if (end < 0) {
      this.#head = text;
      return false;
    }
    this.#head = '';
    this.#status = Number(text.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end))?.[1];
    if (length === undefined) {
      this.#break('The answer does not say how long it is.');
      return false;
    }
    this.#bodyBytesLeft = Number(length) - (text.length - end - 4);
    return true;
  }

  #break(reason: string): void {
    if (this.#isClosed) return;
    this.close();
    this.#events.onBroken(reason);
  }
}
