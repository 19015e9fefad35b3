/** All variants of the text with one flipped bit. */
export function* flipBits(text: string): Generator<Buffer> {
  const bytes = Buffer.from(text);
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = Buffer.from(bytes);
    flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
    yield flipped;
  }
}

/** All proper prefixes of the text. */
export function* cutShort(text: string): Generator<string> {
  for (let length = 0; length < text.length; length++) yield text.slice(0, length);
}

/**
 * All kinds of damage to a file that is JSON in base64: a flipped bit or a missing end, in the file or in the
 * JSON.
 */
export function* damage(file: string): Generator<string> {
  for (const bytes of flipBits(file)) yield bytes.toString();
  yield* cutShort(file);
  const json = Buffer.from(file, 'base64').toString();
  for (const bytes of flipBits(json)) yield bytes.toString('base64');
  for (const short of cutShort(json)) yield Buffer.from(short).toString('base64');
}
