import { pickNumber, pickOne, type Random } from '../../support/random.ts';
import {
  BODIES,
  CLIENTS,
  HOSTS,
  HOT,
  LENGTHS,
  LINE_ENDS,
  ODD_LINES,
  REQUEST_LINES,
  SPLINTERS,
  USUAL_LINES,
} from './stream-parts.ts';

/** What a client sends over one connection. */
export interface ByteStream {
  readonly bytes: Buffer;
  /** Where one write ends and the next begins, in order. */
  readonly cuts: readonly number[];
}

/** A request before it is written down. */
interface Draft {
  line: string;
  headers: string[];
  /** The line of its length. */
  length: string | null;
  body: string;
  lineEnd: string;
}

type Twist = (random: Random, draft: Draft, path: string) => void;

const KIB = 1024;

/** The limits of the lane, of Node and of the server, and what is next to them. */
const HEAD_SIZES = [8 * KIB, 16 * KIB, 16 * KIB + 80];
const BODY_SIZES = [64 * KIB, 8 * KIB];
const NEXT_TO = [-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5];
const HEADER_COUNTS = [61, 62, 63, 64, 65, 66, 100];

const insertLine = (random: Random, draft: Draft, line: string) =>
  draft.headers.splice(pickNumber(random, { from: 0, to: draft.headers.length }), 0, line);

function isHost(line: string): boolean {
  return /^host:/i.test(line);
}

/** What makes a request differ from what clients send. The common ones stand here more than once. */
const TWISTS: readonly Twist[] = [
  (random, draft) => insertLine(random, draft, pickOne(random, USUAL_LINES)),
  (random, draft) => insertLine(random, draft, pickOne(random, USUAL_LINES)),
  (random, draft) => insertLine(random, draft, pickOne(random, ODD_LINES)),
  (random, draft) => insertLine(random, draft, pickOne(random, ODD_LINES)),
  (random, draft, path) => {
    draft.line = pickOne(random, REQUEST_LINES)(path);
  },
  (random, draft) => {
    draft.length = pickOne(random, LENGTHS)(draft.body.length);
  },
  (random, draft) => {
    draft.body = pickOne(random, BODIES);
    draft.length = `Content-Length: ${draft.body.length}`;
  },
  (random, draft) => {
    draft.body = pickOne(random, BODIES);
    draft.length = pickOne(random, ['Transfer-Encoding: chunked', 'Content-Length: 0', draft.length ?? '']);
  },
  (random, draft) => {
    draft.headers = draft.headers.filter((line) => !isHost(line));
    if (random() < 0.9) insertLine(random, draft, `Host: ${pickOne(random, HOSTS)}`);
  },
  (random, draft) => {
    draft.lineEnd = pickOne(random, LINE_ENDS);
  },
];

/** They are long, so there are few of them. */
const LONG_TWISTS: readonly Twist[] = [
  (random, draft) => {
    const size = pickOne(random, HEAD_SIZES) + pickOne(random, NEXT_TO);
    const others = [draft.line, draft.length ?? '', ...draft.headers].join('\r\n').length + '\r\nX: '.length;
    insertLine(random, draft, `X: ${'a'.repeat(Math.max(1, size - others - pickOne(random, [0, 4])))}`);
  },
  (random, draft) => {
    const size = pickOne(random, BODY_SIZES) + pickOne(random, NEXT_TO);
    draft.body = `{"product":"cad","user":"ann"${' '.repeat(size - 30)}}${' '.repeat(5)}`.slice(0, size);
    draft.length = `Content-Length: ${draft.body.length}`;
  },
  (random, draft) => {
    const more = pickOne(random, HEADER_COUNTS) - draft.headers.length - 1;
    for (let count = 0; count < more; count++) draft.headers.push(`X-${count}: y`);
  },
];

function draftRequest(random: Random): Draft {
  const [path, fields] = pickOne(random, HOT);
  const user = `user-${pickNumber(random, { from: 0, to: 7 })}`;
  const body = Buffer.from(JSON.stringify({ product: 'cad', user, ...fields })).toString('latin1');
  const draft: Draft = {
    line: `POST ${path} HTTP/1.1`,
    headers: [...pickOne(random, CLIENTS)],
    length: `Content-Length: ${body.length}`,
    body,
    lineEnd: '\r\n',
  };
  const dice = random();
  if (dice > 0.35) pickOne(random, TWISTS)(random, draft, path);
  if (dice > 0.8) pickOne(random, TWISTS)(random, draft, path);
  if (dice > 0.99) pickOne(random, LONG_TWISTS)(random, draft, path);
  return draft;
}

function writeDown(random: Random, { line, headers, length, body, lineEnd }: Draft): string {
  const lines =
    length === null
      ? headers
      : headers.toSpliced(pickNumber(random, { from: 0, to: headers.length }), 0, length);
  const isMixed = lineEnd !== '\r\n' && random() < 0.7;
  const odd = pickNumber(random, { from: 0, to: lines.length + 1 });
  const all = [line, ...lines, ''];
  const head = all.map((text, index) => text + (isMixed && index !== odd ? '\r\n' : lineEnd)).join('');
  return head + body;
}

/** Something more, something less, something else, something twice. */
function mutate(random: Random, text: string): string {
  const at = pickNumber(random, { from: 0, to: text.length });
  const length = pickOne(random, [1, 1, 1, 2, 4, 20]);
  const splinter =
    random() < 0.8
      ? pickOne(random, SPLINTERS)
      : String.fromCharCode(pickNumber(random, { from: 0, to: 255 }));
  const [before, after] = [text.slice(0, at), text.slice(at)];
  return pickOne(random, [
    () => before + splinter + after,
    () => before + after.slice(length),
    () => before + splinter + after.slice(splinter.length),
    () => before + after.slice(0, length) + after,
    () => before,
  ])();
}

function cutAnywhere(random: Random, text: string): readonly number[] {
  if (random() < 0.45) return [];
  const count = pickOne(random, [1, 1, 1, 2, 3, 5]);
  const places = Array.from({ length: count }, () => {
    const anywhere = pickNumber(random, { from: 0, to: text.length });
    if (random() < 0.4) return anywhere;
    // Around the end of a head.
    const end = text.indexOf('\r\n\r\n', Math.floor(anywhere / 2));
    return end < 0
      ? anywhere
      : Math.min(text.length, Math.max(0, end + pickNumber(random, { from: -3, to: 9 })));
  });
  return places.sort((a, b) => a - b);
}

const COUNTS = [1, 1, 1, 1, 2, 2, 2, 3, 3, 5];

export function makeStream(random: Random): ByteStream {
  const requests = Array.from({ length: pickOne(random, COUNTS) }, () =>
    writeDown(random, draftRequest(random)),
  );
  let text = requests.join('');
  const mutations = pickOne(random, [0, 0, 0, 0, 0, 0, 1, 1, 2, 3]);
  for (let count = 0; count < mutations; count++) text = mutate(random, text);
  return { bytes: Buffer.from(text, 'latin1'), cuts: cutAnywhere(random, text) };
}

export function piecesOf({ bytes, cuts }: ByteStream): readonly Buffer[] {
  const places = [0, ...cuts, bytes.length];
  const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
  return pieces.filter(({ length }) => length > 0);
}
