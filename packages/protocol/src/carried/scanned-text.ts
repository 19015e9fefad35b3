/**
 * The text of a QR code: everything to enter on the other side, as one line. It is pasted, or sent by a
 * scanner that acts as a keyboard, instead of a typed code. It has the form of a URL query, so that it stays
 * one line whatever characters a license key has.
 */
export function writeScannedText(fields: Readonly<Record<string, string>>): string {
  return `${new URLSearchParams(fields)}`;
}

/** The fields; `null` for typed text, which has no fields. */
export function readScannedText(text: string, code: string): ReadonlyMap<string, string> | null {
  const trimmed = text.trim();
  if (!trimmed.includes(`${code}=`)) return null;
  return new Map(new URLSearchParams(trimmed));
}
