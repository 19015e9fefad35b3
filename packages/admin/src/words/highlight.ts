/** What a piece of a line of rules is; `plain` needs no colour. */
type PieceKind = 'plain' | 'mark' | 'key' | 'value' | 'comment';

interface Piece {
  readonly kind: PieceKind;
  readonly text: string;
}

const MARKS = '{}[],';

/** The pieces of a line of YAML, which put together are the line again. */
export function splitLine(line: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  while (at < line.length) {
    const piece = readPiece(line, at);
    pieces.push(piece);
    at += piece.text.length;
  }
  return pieces;
}

function readPiece(line: string, at: number): Piece {
  const first = line[at] as string;
  const take = (kind: PieceKind, end: number): Piece => ({ kind, text: line.slice(at, end) });
  if (isSpace(first))
    return take(
      'plain',
      endOf(line, at, (one) => !isSpace(one)),
    );
  if (first === '#' && (at === 0 || isSpace(line[at - 1]))) return take('comment', line.length);
  if (MARKS.includes(first) || isAlone(line, at, ':') || isAlone(line, at, '-')) return take('mark', at + 1);
  const end = first === '"' || first === "'" ? endOfQuoted(line, at, first) : endOfWord(line, at);
  return take(isAlone(line, end, ':') ? 'key' : 'value', end);
}

/** A colon or a dash means something only before a space or at the end. */
function isAlone(line: string, at: number, mark: string): boolean {
  return line[at] === mark && (at + 1 === line.length || isSpace(line[at + 1]));
}

function isSpace(letter: string | undefined): boolean {
  return letter === ' ' || letter === '\t';
}

function endOf(line: string, from: number, isEnd: (letter: string, at: number) => boolean): number {
  let at = from + 1;
  while (at < line.length && !isEnd(line[at] as string, at)) at++;
  return at;
}

function endOfQuoted(line: string, from: number, quote: string): number {
  const end = line.indexOf(quote, from + 1);
  return end === -1 ? line.length : end + 1;
}

function endOfWord(line: string, from: number): number {
  return endOf(line, from, (one, at) => isSpace(one) || MARKS.includes(one) || isAlone(line, at, ':'));
}
