import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** As in "The SQLite database file format", chapter 4. */
const HEADER_BYTES = 32;
const HEADER_SUMMED_BYTES = 24;
const FRAME_HEADER_BYTES = 24;
const FRAME_SUMMED_BYTES = 8;
/** The last bit says in which order the bytes of a word are added up. */
const MAGIC = 0x377f0682;

const FRAMES_AT_ONCE = 64;

/** What is in a write-ahead log that a crash has left. */
interface LogContent {
  /** The pages whose newest version is in the log. */
  readonly pages: ReadonlySet<number>;
  /**
   * `cut`: the last commit is not whole. The server ended while it was written, or its bytes have changed.
   * `lost`: there are others behind it, which is only possible if its bytes have changed.
   */
  readonly damage: 'cut' | 'lost' | null;
}

const NOTHING: LogContent = { pages: new Set(), damage: null };

type Sum = readonly [number, number];

interface Frame {
  readonly page: number;
  readonly endsCommit: boolean;
  /** Of this log, and not what is left of the one before it in the same file. One salt may have changed. */
  readonly isCurrent: boolean;
}

/** Reads a log as SQLite does when it opens one, which silently ignores all from the first changed bit on. */
export function readLog(file: string): LogContent {
  const log = LogFile.open(file);
  if (log === null) return NOTHING;
  try {
    if (!log.hasGoodHeader) return { ...NOTHING, damage: log.frames === 0 ? null : 'lost' };
    const { pages, whole, good } = readCommits(log);
    return {
      pages,
      damage: good === log.frames || !log.readFrame(good).isCurrent ? null : judgeRest(log, whole),
    };
  } finally {
    log.close();
  }
}

/** For each page in the first frames of a log that is known to be good: its newest content. */
export function* readPages(file: string, frames: number): Generator<[page: number, Buffer]> {
  const log = LogFile.open(file);
  if (log === null) return;
  try {
    const newest = new Map<number, number>();
    for (const [index, page] of log.listPages(frames)) newest.set(page, index);
    for (const [page, index] of newest) yield [page, log.readContent(index)];
  } finally {
    log.close();
  }
}

/** `good`: how many frames are as they were written; `whole`: how many of them belong to whole commits. */
function readCommits(log: LogFile) {
  const pages = new Set<number>();
  let uncommitted: number[] = [];
  let whole = 0;
  let good = 0;
  for (let sum = log.addUp(0, log.sum); sum !== null; sum = log.addUp(good, sum)) {
    const { page, endsCommit } = log.readFrame(good);
    good += 1;
    uncommitted.push(page);
    if (!endsCommit) continue;
    for (const committed of uncommitted) pages.add(committed);
    uncommitted = [];
    whole = good;
  }
  return { pages, whole, good };
}

/** One that is not whole should be the last one: a commit is on the disk before another is written. */
function judgeRest(log: LogFile, whole: number): 'cut' | 'lost' {
  let hasEnded = false;
  for (let index = whole; index < log.frames; index++) {
    const { isCurrent, endsCommit } = log.readFrame(index);
    if (!isCurrent) continue;
    if (hasEnded) return 'lost';
    hasEnded = endsCommit;
  }
  return 'cut';
}

class LogFile {
  readonly #handle: number;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  readonly #frameHeader = Buffer.alloc(FRAME_HEADER_BYTES);
  readonly #content: Buffer;
  readonly frames: number;

  private constructor(handle: number) {
    this.#handle = handle;
    readSync(handle, this.#header, 0, HEADER_BYTES, 0);
    const pageSize = this.#header.readUInt32BE(8);
    const isPageSize = pageSize >= 512 && pageSize <= 65_536 && (pageSize & (pageSize - 1)) === 0;
    // Only a header that has changed names another size.
    this.#content = Buffer.alloc(isPageSize ? pageSize : 4096);
    this.frames = Math.floor((fstatSync(handle).size - HEADER_BYTES) / this.#frameBytes);
  }

  /** `null`: there is no log, or nothing in it. */
  static open(file: string): LogFile | null {
    const handle = openOrNull(`${file}-wal`);
    if (handle === null) return null;
    if (fstatSync(handle).size >= HEADER_BYTES) return new LogFile(handle);
    closeSync(handle);
    return null;
  }

  close(): void {
    closeSync(this.#handle);
  }

  get sum(): Sum {
    return sumAt(this.#header, HEADER_SUMMED_BYTES);
  }

  get hasGoodHeader(): boolean {
    const isMagic = (this.#header.readUInt32BE(0) & ~1) === MAGIC;
    const summed = this.#addWords(this.#header.subarray(0, HEADER_SUMMED_BYTES), [0, 0]);
    return isMagic && isSame(summed, this.sum);
  }

  readFrame(index: number): Frame {
    readSync(this.#handle, this.#frameHeader, 0, FRAME_HEADER_BYTES, this.#placeOf(index));
    const isSaltKept = (at: number) =>
      this.#frameHeader.readUInt32BE(at) === this.#header.readUInt32BE(at + 8);
    return {
      page: this.#frameHeader.readUInt32BE(0),
      endsCommit: this.#frameHeader.readUInt32BE(4) !== 0,
      isCurrent: isSaltKept(8) || isSaltKept(12),
    };
  }

  /** The numbers of the pages in the first frames. Reading many at once takes half the time. */
  *listPages(frames: number): Generator<[index: number, page: number]> {
    const chunk = Buffer.alloc(FRAMES_AT_ONCE * this.#frameBytes);
    for (let index = 0; index < frames; index++) {
      const nth = index % FRAMES_AT_ONCE;
      if (nth === 0) readSync(this.#handle, chunk, 0, chunk.length, this.#placeOf(index));
      yield [index, chunk.readUInt32BE(nth * this.#frameBytes)];
    }
  }

  /** The page of a frame. The next call overwrites it. */
  readContent(index: number): Buffer {
    const place = this.#placeOf(index) + FRAME_HEADER_BYTES;
    readSync(this.#handle, this.#content, 0, this.#content.length, place);
    return this.#content;
  }

  /** Each sum covers all frames before it. `null`: SQLite would not take this frame. */
  addUp(index: number, before: Sum): Sum | null {
    if (index >= this.frames) return null;
    this.readFrame(index);
    const header = this.#frameHeader;
    if (header.compare(this.#header, 16, 24, 8, 16) !== 0) return null;
    const first = this.#addWords(header.subarray(0, FRAME_SUMMED_BYTES), before);
    const sum = this.#addWords(this.readContent(index), first);
    return isSame(sum, sumAt(header, 16)) ? sum : null;
  }

  #addWords(bytes: Buffer, [first, second]: Sum): Sum {
    const isBigEndian = (this.#header.readUInt32BE(0) & 1) === 1;
    const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let [a, b] = [first, second];
    for (let at = 0; at < bytes.length; at += 8) {
      a = (a + words.getUint32(at, !isBigEndian) + b) >>> 0;
      b = (b + words.getUint32(at + 4, !isBigEndian) + a) >>> 0;
    }
    return [a, b];
  }

  get #frameBytes(): number {
    return FRAME_HEADER_BYTES + this.#content.length;
  }

  #placeOf(index: number): number {
    return HEADER_BYTES + index * this.#frameBytes;
  }
}

function openOrNull(file: string): number | null {
  try {
    return openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function sumAt(bytes: Buffer, at: number): Sum {
  return [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)];
}

function isSame(a: Sum, b: Sum): boolean {
  return a[0] === b[0] && a[1] === b[1];
}
