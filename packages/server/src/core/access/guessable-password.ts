import { COMMON_WORDS } from './common-words.ts';

/**
 * Returns whether a password is easy to guess. There are no rules about which characters it needs. Instead,
 * everything that guessers try first (common words and names, also with digits for letters, neighbouring
 * keys, sequences, repeats, years) counts as one character, and what remains must be long enough.
 */
export function isGuessable(password: string, names: readonly string[]): boolean {
  return countUnguessable(password, names) < MIN_UNGUESSABLE;
}

const MIN_UNGUESSABLE = 8;

/** The forms in which a list of passwords may have this one. */
export function formsOf(password: string): readonly string[] {
  const text = password.normalize('NFKC').toLowerCase();
  return [text, unitOf(text), bareOf(text)];
}

/** The most digits and signs that people put around a word to make it long enough. */
const MOST_AROUND = 6;
const LETTER = /\p{L}/u;

function bareOf(text: string): string {
  const letters = [...text].map((sign) => LETTER.test(sign));
  const bare = [...text].slice(letters.indexOf(true), letters.lastIndexOf(true) + 1);
  return letters.length - bare.length > MOST_AROUND ? text : bare.join('');
}

/** Shorter names occur in too many words. */
const SHORTEST_NAME = 3;

function countUnguessable(password: string, names: readonly string[]): number {
  const text = unitOf(password.normalize('NFKC').toLowerCase());
  const spellings = [text, ...READINGS.map((reading) => readDigits(text, reading))];
  const words = [...COMMON_WORDS, ...names.flatMap(partsOf)];
  let count = 0;
  for (let index = 0; index < text.length; count++) {
    const part = Math.max(
      1,
      ...spellings.map((spelling) => longestWord(spelling, index, words)),
      longestWalk(text, index),
      repeatAt(text, index),
      yearAt(text, index),
    );
    index += part;
  }
  return count;
}

/** The part that a text repeats, if it is nothing but repetitions. */
function unitOf(text: string): string {
  const period = `${text}${text}`.indexOf(text, 1);
  return text.slice(0, period);
}

/** The letters that digits and signs stand for; some stand for either of two. */
const LETTERS = { '0': 'o', '3': 'e', '4': 'a', '@': 'a', '5': 's', $: 's', '7': 't', '+': 't', '8': 'b' };
const READINGS: readonly Readonly<Record<string, string>>[] = [
  { ...LETTERS, '1': 'i', '!': 'i', '|': 'i', '9': 'g' },
  { ...LETTERS, '1': 'l', '!': 'l', '|': 'l', '9': 'g' },
];

function readDigits(text: string, reading: Readonly<Record<string, string>>): string {
  return text.replace(/[0-9@$+!|]/g, (sign) => reading[sign] ?? sign);
}

function partsOf(name: string): readonly string[] {
  const whole = name.normalize('NFKC').toLowerCase();
  return [whole, ...whole.split(/[^\p{L}\p{N}]+/u)].filter((part) => part.length >= SHORTEST_NAME);
}

function longestWord(text: string, index: number, words: readonly string[]): number {
  const found = words.filter((word) => text.startsWith(word, index));
  return Math.max(0, ...found.map(({ length }) => length));
}

/** Rows and columns of keyboards, the alphabet, the digits, and common paths across the keys. */
const WALKS = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890123456789',
  'qwertyuiop[]asdfghjkl',
  'qwertzuiopüasdfghjklöä',
  'azertyuiopqsdfghjklm',
  'zxcvbnm,./',
  'yxcvbnm,.-',
  '!@#$%^&*()_+',
  '!"§$%&/()=',
  '1q2w3e4r5t6y7u8i9o0p',
  'q1w2e3r4t5y6u7i8o9p0',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.',
  'qazwsxedcrfvtgbyhnujmikolp',
  'zaq12wsxcde34rfvbgt56yhnmju78ik,',
  'qweasdzxc',
  '147258369',
  '159357',
  '112233445566778899',
  'aabbccddeeffgghh',
].flatMap((walk) => [walk, [...walk].reverse().join('')]);

const SHORTEST_WALK = 4;

function longestWalk(text: string, index: number): number {
  let length = 0;
  for (const walk of WALKS) {
    let reach = Math.max(length + 1, SHORTEST_WALK);
    while (index + reach <= text.length && walk.includes(text.slice(index, index + reach))) {
      length = reach;
      reach += 1;
    }
  }
  return length;
}

const SHORTEST_REPEAT = 3;

function repeatAt(text: string, index: number): number {
  let end = index + 1;
  while (end < text.length && text[end] === text[index]) end += 1;
  return end - index >= SHORTEST_REPEAT ? end - index : 0;
}

function yearAt(text: string, index: number): number {
  return /^(19|20)\d\d/.test(text.slice(index, index + 4)) ? 4 : 0;
}
