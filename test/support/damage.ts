/** All bytes that differ from those of this text in a single bit. */
export function* flipBits(text: string): Generator<Buffer> {
  const bytes = Buffer.from(text);
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = Buffer.from(bytes);
    flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
    yield flipped;
  }
}

/** Every text that ends too early. */
export function* cutShort(text: string): Generator<string> {
  for (let length = 0; length < text.length; length++) yield text.slice(0, length);
}

/**
 * Everything that can happen to a file that is base64 of JSON: bits flip in it, bits flip in the JSON, either
 * ends too early.
 */
export function* damage(file: string): Generator<string> {
  for (const bytes of flipBits(file)) yield bytes.toString();
  yield* cutShort(file);
  const json = Buffer.from(file, 'base64').toString();
  for (const bytes of flipBits(json)) yield bytes.toString('base64');
  for (const short of cutShort(json)) yield Buffer.from(short).toString('base64');
}
