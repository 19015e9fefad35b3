/**
 * What a QR code holds: everything that is to be typed on the other side, as one line. It is pasted, or sent
 * by a scanner that acts as a keyboard, where a code would be typed. The form of a URL's query: whatever
 * characters a license key has, one line stays one line.
 */
export function writeScannedText(fields: Readonly<Record<string, string>>): string {
  return `${new URLSearchParams(fields)}`;
}

/** The fields; `null` for a text that was typed, which names no fields. */
export function readScannedText(text: string, code: string): ReadonlyMap<string, string> | null {
  const trimmed = text.trim();
  if (!trimmed.includes(`${code}=`)) return null;
  return new Map(new URLSearchParams(trimmed));
}
