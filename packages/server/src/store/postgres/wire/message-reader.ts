import type { Row } from '../../engine/rows.ts';
import { DatabaseError } from './database-error.ts';

/** The type of a message, its letter and its length. */
const HEAD_BYTES = 5;

/** A column of a result, and what becomes of its text. */
export interface ResultColumn {
  readonly name: string;
  readonly read: (text: string) => unknown;
}

/** One message: everything between `at` and `end`. */
export interface Message {
  readonly type: string;
  readonly bytes: Buffer;
  readonly at: number;
  readonly end: number;
}

/** Splits what comes from the database into messages. */
export class MessageReader {
  /** The beginning of a message, and how many bytes have to be there before it is looked at again. */
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #neededBytes = 0;

  *read(chunk: Buffer): Generator<Message> {
    this.#keptBytes += chunk.length;
    this.#kept.push(chunk);
    if (this.#keptBytes < this.#neededBytes) return;
    const bytes = this.#kept.length === 1 ? chunk : Buffer.concat(this.#kept, this.#keptBytes);
    let at = 0;
    let needed = HEAD_BYTES;
    while (bytes.length - at >= HEAD_BYTES) {
      needed = 1 + bytes.readInt32BE(at + 1);
      if (needed < HEAD_BYTES) throw new Error('A message of the database has a wrong length.');
      if (bytes.length - at < needed) break;
      yield {
        type: String.fromCharCode(bytes[at] as number),
        bytes,
        at: at + HEAD_BYTES,
        end: at + needed,
      };
      at += needed;
      needed = HEAD_BYTES;
    }
    this.#kept = at === bytes.length ? [] : [bytes.subarray(at)];
    this.#keptBytes = bytes.length - at;
    this.#neededBytes = needed;
  }
}

/** The numbers of PostgreSQL's types whose values are not text here. */
const READERS = new Map<number, ResultColumn['read']>([
  [16, (text) => text === 't'],
  [17, (text) => Buffer.from(text.slice(2), 'hex')],
  // 64-bit integers become numbers: times and counters are far below 2^53.
  ...[20, 21, 23, 26, 700, 701].map((type) => [type, Number] as [number, typeof Number]),
]);

function asItIs(text: string): string {
  return text;
}

export function readColumns({ bytes, at: start }: Message): readonly ResultColumn[] {
  let at = start + 2;
  return Array.from({ length: bytes.readUInt16BE(start) }, () => {
    const nameEnd = bytes.indexOf(0, at);
    const name = bytes.toString('utf8', at, nameEnd);
    // After the name: its table and its place there, its type, and three numbers more.
    const type = bytes.readUInt32BE(nameEnd + 7);
    at = nameEnd + 19;
    return { name, read: READERS.get(type) ?? asItIs };
  });
}

export function readRow({ bytes, at: start }: Message, columns: readonly ResultColumn[]): Row {
  const row: Record<string, unknown> = {};
  let at = start + 2;
  for (const { name, read } of columns) {
    const length = bytes.readInt32BE(at);
    at += 4;
    if (length === -1) {
      row[name] = null;
      continue;
    }
    row[name] = read(bytes.toString('utf8', at, at + length));
    at += length;
  }
  return row as Row;
}

/** How many rows a statement touched: the last word of `INSERT 0 7`, if it is a number. */
export function readCount({ bytes, at, end }: Message): number {
  const text = bytes.toString('latin1', at, end - 1);
  const count = Number(text.slice(text.lastIndexOf(' ') + 1));
  return Number.isNaN(count) ? 0 : count;
}

/** What an error says, by the letter that it is sent with. */
const ERROR_FIELDS: Readonly<Record<string, string>> = {
  V: 'severity',
  S: 'severity_local',
  C: 'code',
  D: 'detail',
  H: 'hint',
  P: 'position',
  W: 'where',
  s: 'schema_name',
  t: 'table_name',
  c: 'column_name',
  n: 'constraint_name',
  R: 'routine',
};

export function readError({ bytes, at, end }: Message): DatabaseError {
  const said = bytes.toString('utf8', at, end).split('\0');
  const fields = said.filter((field) => field.length > 0).map((field) => [field[0], field.slice(1)] as const);
  const message = fields.find(([letter]) => letter === 'M')?.[1] ?? 'The database reported an error.';
  const known = fields.flatMap(([letter, text]) => {
    const name = ERROR_FIELDS[letter as string];
    return name === undefined ? [] : [[name, text] as const];
  });
  return new DatabaseError(message, Object.fromEntries(known));
}

const PROCESS_BYTES = 4;

/** The channel and the text of a notification. */
export function readNotification({ bytes, at, end }: Message): readonly [channel: string, payload: string] {
  const [channel = '', payload = ''] = bytes.toString('utf8', at + PROCESS_BYTES, end).split('\0');
  return [channel, payload];
}
