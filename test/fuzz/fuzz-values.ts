import fc from 'fast-check';

/** Whole numbers at which something ends: counts, 32 bits, 53 bits, 64 bits, dates. */
const EDGES = [
  -1,
  0,
  1,
  2,
  255,
  256,
  257,
  512,
  513,
  3650,
  3651,
  4096,
  4097,
  65_536,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32,
  8.64e15,
  8.64e15 + 1,
  2 ** 53 - 1,
  2 ** 53,
  2 ** 53 + 2,
  -(2 ** 53) + 1,
  -(2 ** 53),
  2 ** 63,
  1e21,
  1e308,
  0.5,
  -0,
];

const NUMBER_TEXTS = [
  '007',
  '+1',
  '-0',
  '1.0',
  '1e3',
  '0x1f',
  '9007199254740991',
  '9007199254740992',
  '-9007199254740993',
  '99999999999999999999',
  '1_000',
  '١٢٣',
  'NaN',
  'Infinity',
  ' 1 ',
];

const DATES = [
  '2030-01-15',
  '2030-01-16T12:00:00Z',
  '2030-01-20 08:30',
  '2030-02-30',
  '0001-01-01T00:00:00',
  '9999-12-31T23:59:60.999999999+23:59',
  '2029-01-01',
  '+275760-09-13T00:00:00.001Z',
  '20300116',
  '2030-01-16T12:00:00.1234567890Z',
  '0000-00-00',
  '-000001-01-01T00:00:00Z',
];

/** Texts that some program somewhere has stumbled over. */
const TRAPS = [
  '',
  ' ',
  '\u0000',
  '\u0007bell',
  'a\r\nSet-Cookie: x=1',
  '\u001b[2J',
  '\u0085',
  '\u2028',
  '\ufeff',
  '\ufffd',
  '\ud800',
  '\udc00',
  'a\ud83d',
  '\u202eabc',
  '\u200d',
  'e\u0301',
  'ﬁ',
  'ß',
  'İ',
  '👩‍👩‍👧‍👦',
  '\u{10ffff}',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'null',
  'undefined',
  'true',
  '../../../etc/passwd',
  '..\\..\\',
  'C:\\',
  'file:///etc/passwd',
  '%00',
  '%2e%2e%2f',
  '%',
  '%zz',
  "' OR 1=1 --",
  '"; DROP TABLE license; --',
  '*',
  '%_',
  '<script>alert(1)</script>',
  '{{7*7}}',
  '#{7*7}',
  '$(id)',
  '`id`',
  '=1+1',
  '(a+)+$',
  '[',
  '\\',
  '-',
  '--help',
  '@',
  '+',
  '.',
  '1'.repeat(40),
];

/** What makes a pattern that goes back and forth take for ever. */
const REPEATED = [
  'a',
  ' ',
  '-',
  '0',
  '=',
  'é',
  '👍',
  '\ud800',
  '\t',
  '/',
  '[',
  '{"a":',
  'Ā',
  '%20',
  '\\',
  '"',
];

const long = fc
  .tuple(
    fc.constantFrom(...REPEATED),
    fc.constantFrom(27, 255, 256, 257, 511, 512, 513, 1025, 4095, 4096, 4097),
  )
  .chain(([piece, length]) =>
    fc.constantFrom(piece.repeat(length), `${piece.repeat(length)}!`, `x${piece.repeat(length)}`),
  );

/** Near and beyond the bound of a whole body. */
const huge = fc
  .tuple(fc.constantFrom(...REPEATED), fc.constantFrom(16_000, 65_000, 66_000))
  .map(([piece, length]) => piece.repeat(length / piece.length));

const SURROGATES = { from: 0xd800, count: 0x800 };

/** Like the unit `binary`, which makes a table of all characters first. */
const anyCharacter = fc.nat(0x10ffff - SURROGATES.count).map(
  (n) => String.fromCodePoint(n < SURROGATES.from ? n : n + SURROGATES.count),
  (character) => {
    const n = String(character).codePointAt(0) ?? 0;
    if (character !== String.fromCodePoint(n)) throw new Error('It is not one character.');
    return n < SURROGATES.from ? n : n - SURROGATES.count;
  },
);

const anyText = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.string({ maxLength: 40 }),
);

export const edgeNumber: fc.Arbitrary<number> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...EDGES) },
  { weight: 1, arbitrary: fc.maxSafeInteger() },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
);

export const oddText: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...TRAPS) },
  { weight: 3, arbitrary: fc.constantFrom(...NUMBER_TEXTS, ...DATES) },
  { weight: 4, arbitrary: anyText },
  { weight: 3, arbitrary: long },
);

export const date: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...DATES),
  // Within the days that the licenses of the fuzzed server can be borrowed for, mostly.
  fc
    .integer({ min: -1, max: 12 * 24 })
    .map((hours) => new Date(Date.UTC(2030, 0, 15, 12 + hours)).toISOString()),
);

function nest(depth: number, isArray: boolean): unknown {
  let value: unknown = 'x';
  for (let level = 0; level < depth; level++) value = isArray ? [value] : { a: value };
  return value;
}

/** Around the bound of 32 levels, and far from it. */
const nested = fc
  .tuple(fc.constantFrom(1, 2, 29, 30, 31, 32, 33, 40), fc.boolean())
  .map(([depth, isArray]) => nest(depth, isArray));

/** A JSON value that is not what a field expects. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: oddText },
  { weight: 4, arbitrary: edgeNumber },
  { weight: 2, arbitrary: fc.constantFrom(null, true, false, [], {}, [null], [[]]) },
  { weight: 1, arbitrary: nested },
  { weight: 1, arbitrary: fc.array(fc.oneof(oddText, edgeNumber), { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.dictionary(fc.constantFrom('id', 'name', 'user', 'a', 'b'), edgeNumber) },
);

export const hugeText: fc.Arbitrary<string> = huge;

/** Text that may stand in a header: no control characters, one byte for each. */
export const headerText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    ...[
      '',
      ' ',
      '*',
      '*/*',
      ',',
      ';',
      '=',
      '"',
      '""',
      'null',
      'undefined',
      '0',
      '-1',
      '1e9',
      'é',
      '\xff\xfe',
      '\t',
    ],
    ...['a'.repeat(257), 'b'.repeat(8000), ','.repeat(2000), 'a=b; '.repeat(500), 'text/plain;'.repeat(200)],
  ),
  fc.string({
    unit: fc
      .integer({ min: 0x20, max: 0xff })
      .filter(isPrintable)
      .map((code) => String.fromCharCode(code)),
    maxLength: 30,
  }),
);

function isPrintable(code: number): boolean {
  return code < 0x7f || code > 0x9f;
}
