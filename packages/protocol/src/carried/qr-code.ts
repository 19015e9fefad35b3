import { encode } from 'uqr';

/** The dark modules of a QR code, row by row, with the light margin that scanners need. */
export type QrCode = readonly (readonly boolean[])[];

/** As required by the standard. */
const MARGIN = 4;

/** Level M: readable with a seventh of it damaged, and not much larger. */
export function makeQrCode(text: string): QrCode {
  return encode(text, { ecc: 'M', boostEcc: false, border: MARGIN }).data;
}

/** Two rows of modules in one line of characters, which are twice as high as wide. Dark is drawn. */
export function drawQrCode(code: QrCode): readonly string[] {
  const lines: string[] = [];
  for (let row = 0; row < code.length; row += 2) {
    const [upper = [], lower = []] = [code[row], code[row + 1]];
    lines.push(upper.map((isDark, column) => halfBlock(isDark, lower[column] ?? false)).join(''));
  }
  return lines;
}

function halfBlock(isUpper: boolean, isLower: boolean): string {
  if (isUpper) return isLower ? '█' : '▀';
  return isLower ? '▄' : ' ';
}

const BLACK_ON_WHITE = '\u001b[30;107m';
const AS_BEFORE = '\u001b[0m';

/** Where a QR code is shown: a terminal, or something without columns. */
interface QrScreen {
  readonly columns: number | null;
  draw(picture: string): void;
}

/** Shows it on terminals, and elsewhere if it is wanted. */
export function showQrCode(text: string, isWanted: boolean | undefined, screen: QrScreen): void {
  if (isWanted ?? screen.columns !== null) screen.draw(renderQrCode(text, screen.columns));
}

/**
 * Scanners expect dark on light, but terminal colours vary, so they are set. If the code does not fit, it is
 * not drawn, because broken lines would be useless.
 */
export function renderQrCode(text: string, columns: number | null): string {
  const lines = drawQrCode(makeQrCode(text));
  if (columns === null) return lines.join('\n');
  const width = lines[0]?.length ?? 0;
  if (width > columns) return `(The QR code needs ${width} columns, and this terminal has ${columns}.)`;
  return lines.map((line) => `${BLACK_ON_WHITE}${line}${AS_BEFORE}`).join('\n');
}

/** The dark modules as a path of SVG, in units of a module. */
export function outlineQrCode(code: QrCode): string {
  return code
    .flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    .join('');
}
