import { connect, type Socket } from 'node:net';
import type { Address } from './load-plan.ts';

const READ_BUFFER_BYTES = 16 * 1024;
const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');
const EMPTY = Buffer.alloc(0);

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
  /** What has arrived of a head that came in pieces. */
  #head = EMPTY;
  #bodyBytesLeft = 0;
  /** The end of what has arrived of a body in chunks; `null`: there is none. */
  #chunkTail: Buffer | null = null;
  #isClosed = false;

  private constructor(address: Address, events: ConnectionEvents) {
    this.#events = events;
    const buffer = Buffer.allocUnsafe(READ_BUFFER_BYTES);
    const callback = (size: number): boolean => {
      this.#take(buffer, size);
      return true;
    };
    this.#socket = connect({ ...address, noDelay: true, onread: { buffer, callback } });
    this.#socket.on('error', (error) => this.#break(error.message));
    this.#socket.on('close', () => this.#break('The server closed the connection.'));
  }

  static open(address: Address, events: ConnectionEvents): Promise<LoadConnection> {
    const connection = new LoadConnection(address, events);
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
    if (this.#chunkTail !== null) {
      this.#takeChunk(Buffer.concat([this.#chunkTail, buffer.subarray(0, size)]));
      return;
    }
    if (this.#bodyBytesLeft > 0) this.#bodyBytesLeft -= size;
    else if (!this.#takeHead(buffer.subarray(0, size))) return;
    if (this.#bodyBytesLeft < 0) this.#break('The answer is longer than it says.');
    else if (this.#bodyBytesLeft === 0) this.#events.onAnswer(this.#status);
  }

  /** Answers whether the head is complete. */
  #takeHead(chunk: Buffer): boolean {
    const bytes = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
    const end = bytes.indexOf(HEAD_END);
    if (end < 0) {
      this.#head = Buffer.from(bytes);
      return false;
    }
    this.#head = EMPTY;
    const head = bytes.toString('latin1', 0, end);
    this.#status = Number(head.slice(9, 12));
    if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
      this.#takeChunk(bytes.subarray(end + HEAD_END.length));
      return false;
    }
    const length = this.#status === 204 ? '0' : /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined) {
      this.#break('The answer does not say how long it is.');
      return false;
    }
    this.#bodyBytesLeft = Number(length) - (bytes.length - end - HEAD_END.length);
    return true;
  }

  /** JSON has no line ends in it that could be taken for those of the last chunk. */
  #takeChunk(bytes: Buffer): void {
    const tail = bytes.subarray(-LAST_CHUNK.length);
    this.#chunkTail = tail.equals(LAST_CHUNK) ? null : Buffer.from(tail);
    if (this.#chunkTail === null) this.#events.onAnswer(this.#status);
  }

  #break(reason: string): void {
    if (this.#isClosed) return;
    this.close();
    this.#events.onBroken(reason);
  }
}
