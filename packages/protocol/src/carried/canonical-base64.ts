/**
 * Base64 in its canonical form. A decoder that skips unknown characters or ignores the last bits accepts many
 * texts for the same bytes, so a changed file could pass as the original.
 */
export function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}

export function encodeBase64(bytes: Uint8Array | string): string {
  return Buffer.from(bytes as Uint8Array).toString('base64');
}

/** The same for text, which must be valid UTF-8. */
export function decodeBase64Text(text: string): string | null {
  const bytes = decodeBase64(text);
  if (bytes === null) return null;
  const decoded = bytes.toString('utf8');
  return Buffer.from(decoded).equals(bytes) ? decoded : null;
}
