/** Pages that came without TLS have no Web Crypto, so this is our own. It is for short texts. */
export function sha256(message: Uint8Array): Uint8Array {
  const hash = Uint32Array.from(INITIAL);
  const blocks = pad(message);
  const words = new Uint32Array(64);
  for (let start = 0; start < blocks.byteLength; start += 64) {
    for (let i = 0; i < 16; i++) words[i] = blocks.getUint32(start + 4 * i);
    for (let i = 16; i < 64; i++) {
      const [a, b] = [at(words, i - 15), at(words, i - 2)];
      const s0 = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3);
      const s1 = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10);
      words[i] = at(words, i - 16) + s0 + at(words, i - 7) + s1;
    }
    mix(hash, words);
  }
  const result = new DataView(new Uint8Array(32).buffer);
  for (const [i, word] of hash.entries()) result.setUint32(4 * i, word);
  return new Uint8Array(result.buffer);
}

export function hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array {
  const short = key.length > 64 ? sha256(key) : key;
  const mask = (byte: number) => Uint8Array.from({ length: 64 }, (_, i) => (short[i] ?? 0) ^ byte);
  return sha256(Uint8Array.of(...mask(0x5c), ...sha256(Uint8Array.of(...mask(0x36), ...message))));
}

/** The first 128 bits of the hash. */
export function fingerprint(text: string): string {
  const bytes = sha256(new TextEncoder().encode(text)).subarray(0, 16);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function mix(hash: Uint32Array, words: Uint32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
  for (let i = 0; i < 64; i++) {
    const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
    const one = (h + s1 + ((e & f) ^ (~e & g)) + at(ROUNDS, i) + at(words, i)) | 0;
    const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
    const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [a, b, c, d, e, f, g, h] = [(one + two) | 0, a, b, c, (d + one) | 0, e, f, g];
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) hash[i] = at(hash, i) + word;
}

/** A one, zeros, and the length in bits, up to whole blocks. */
function pad(message: Uint8Array): DataView {
  const bytes = new Uint8Array(Math.ceil((message.length + 9) / 64) * 64);
  bytes.set(message);
  bytes[message.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(bytes.length - 4, message.length * 8);
  return view;
}

function turn(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

function at(words: Uint32Array, index: number): number {
  return words[index] ?? 0;
}

const PRIMES = Array.from({ length: 312 }, (_, n) => n).filter((n) => n > 1 && isPrime(n));
const INITIAL = PRIMES.slice(0, 8).map((prime) => fraction(prime ** (1 / 2)));
const ROUNDS = Uint32Array.from(PRIMES, (prime) => fraction(prime ** (1 / 3)));

function isPrime(n: number): boolean {
  for (let i = 2; i * i <= n; i++) if (n % i === 0) return false;
  return true;
}

/** The first 32 bits after the point. */
function fraction(root: number): number {
  return Math.floor((root % 1) * 2 ** 32);
}
