export interface ContentChange {
  readonly at: number;
  /** `null`: the file is cut off, or extended, at `at`. */
  readonly bytes: Buffer | null;
}

/** The bytes of a file. What was never written is zero. */
export class Content {
  #bytes: Buffer;
  #size: number;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#size = bytes.length;
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }

  copy(): Content {
    return new Content(Buffer.from(this.bytes));
  }

  apply({ at, bytes }: ContentChange): void {
    const end = at + (bytes?.length ?? 0);
    this.#makeRoom(end);
    if (bytes !== null) {
      bytes.copy(this.#bytes, at);
      this.#size = Math.max(this.#size, end);
    } else {
      if (at < this.#size) this.#bytes.fill(0, at, this.#size);
      this.#size = at;
    }
  }

  #makeRoom(size: number): void {
    if (size <= this.#bytes.length) return;
    const larger = Buffer.alloc(2 * size);
    this.#bytes.copy(larger, 0, 0, this.#size);
    this.#bytes = larger;
  }
}
