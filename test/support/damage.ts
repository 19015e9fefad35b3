import { createRandom, makeUpSeed, pickOne } from './random.ts';

const BITS = [0, 1, 2, 3, 4, 5, 6, 7];

/** All variants with one flipped bit; `pick` says which bits of a byte. */
export function* flipBits(
  text: string | Buffer,
  pick: () => readonly number[] = () => BITS,
): Generator<Buffer> {
  const bytes = Buffer.from(text);
  for (const index of bytes.keys()) {
    for (const bit of pick()) {
      const flipped = Buffer.from(bytes);
      flipped[index] = (flipped[index] as number) ^ (1 << bit);
      yield flipped;
    }
  }
}

/** All proper prefixes of the text. */
export function* cutShort(text: string): Generator<string> {
  for (let length = 0; length < text.length; length++) yield text.slice(0, length);
}

/** `npm run faults` sets it: all bits and all lengths, instead of one bit of each byte and fewer lengths. */
const hasAll = process.env.BERTH_ALL_FAULTS !== undefined;
const LENGTH_STEP = 7;
/** Only the end can be missing without being missed, such as what fills up base64. */
const LONGEST_END = 64;

/** Variants with one flipped bit anywhere, and without the end. */
export function* tamper(bytes: Buffer): Generator<Buffer> {
  // A variant that is taken is shown, so nobody needs the seed.
  const random = createRandom(makeUpSeed());
  yield* flipBits(bytes, hasAll ? undefined : () => [pickOne(random, BITS)]);
  for (const length of bytes.keys()) {
    const isNearEnd = length >= bytes.length - LONGEST_END;
    if (hasAll || isNearEnd || length % LENGTH_STEP === 0) yield bytes.subarray(0, length);
  }
}

/** The same of a file that is JSON in base64: of the file and of the JSON. */
export function* damage(file: string): Generator<string> {
  for (const bytes of tamper(Buffer.from(file))) yield bytes.toString();
  for (const bytes of tamper(Buffer.from(file, 'base64'))) yield bytes.toString('base64');
}
