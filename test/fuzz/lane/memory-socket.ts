import { Duplex } from 'node:stream';

let opened = 0;

/** The server's end of a connection that needs no system: a test pushes what it receives. */
export class MemorySocket extends Duplex {
  readonly remoteAddress = '127.0.0.1';
  readonly remotePort: number;
  readonly localAddress = '127.0.0.1';
  readonly #written: Buffer[] = [];
  bytesWritten = 0;
  /** The server has said that it will write no more. */
  isFinished = false;

  #received = 0;
  /** How far its lane has read, and what had arrived, when it left the rest to Node. */
  left: { readonly at: number; readonly received: number } | null = null;

  constructor() {
    super({ decodeStrings: true });
    opened += 1;
    this.remotePort = opened;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#written.push(chunk);
    this.bytesWritten += chunk.length;
    done();
  }

  override _final(done: () => void): void {
    this.isFinished = true;
    done();
  }

  override push(chunk: Buffer | null): boolean {
    this.#received += chunk?.length ?? 0;
    return super.push(chunk);
  }

  override unshift(chunk: Buffer): void {
    const at = this.#received - chunk.length - this.readableLength;
    this.left ??= { at, received: this.#received };
    super.unshift(chunk);
  }

  /** Everything that was written so far, letter by byte. */
  readAll(): string {
    return this.#written.length === 0 ? '' : Buffer.concat(this.#written).toString('latin1');
  }

  /** Nothing here times out. */
  setTimeout(): this {
    return this;
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  resetAndDestroy(): this {
    return this.destroy();
  }
}
