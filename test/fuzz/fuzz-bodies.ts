import type { Route } from '@berth/server/http/route';
import fc from 'fast-check';
import type { FuzzRequest, Ingredients } from './fuzz-requests.ts';
import { fields } from './fuzz-schema.ts';
import { hugeText, oddText, oddValue } from './fuzz-values.ts';

type Body = FuzzRequest['body'];

/** What may be done to a JSON text, by mistake or on purpose. */
const SPOILERS = [
  (text: string) => text.replace(/^\{(.+)\}$/, '{$1,$1}'),
  (text: string) =>
    text.replace(/^\{("(?:[^"\\]|\\.)*")/, (_, key: string) => `{${key.toUpperCase()}:1,${key}`),
  (text: string) => text.replace(/^\{/, '{"__proto__":{"isFuzzed":true},'),
  (text: string) => text.replace(/^\{/, '{"constructor":{"prototype":{"isFuzzed":true}},'),
  (text: string) => text.slice(0, Math.floor(text.length / 2)),
  (text: string) => `${text}${text}`,
  (text: string) => `\ufeff${text}`,
  (text: string) => text.replaceAll('"', "'"),
  (text: string) => `[${text}]`,
  (text: string) => text.replace(/\}$/, ',}'),
  (text: string) => `${' '.repeat(1000)}${text}\n\n`,
  (text: string) => text.replaceAll(/[a-z]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`),
];

function encodings(text: string): readonly Uint8Array<ArrayBuffer>[] {
  const swapped = Buffer.from(text, 'utf16le').swap16();
  return [
    Buffer.from(text, 'utf16le'),
    swapped,
    Buffer.from(text, 'latin1'),
    Buffer.from(`\u001f\u008b${text}`, 'latin1'),
  ].map((bytes) => Uint8Array.from(bytes));
}

const GARBAGE: readonly string[] = [
  '',
  ' ',
  'null',
  'true',
  '1',
  '"x"',
  '[]',
  '{}',
  '{',
  '}',
  '[[',
  'NaN',
  '-',
  '{"a":1e999}',
  '{"a":-0}',
  '\u0000',
  'user=ann&product=cad',
  '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
  '--x--\r\n',
  '['.repeat(40),
  '['.repeat(60_000),
  `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`,
  `[${'1,'.repeat(30_000)}1]`,
  `{${Array.from({ length: 4000 }, (_, index) => `"k${index}":${index}`).join(',')}}`,
  `{"a":"${'\\'.repeat(30_000)}"}`,
];

/** What a body may be: the fields of the route, spoilt somehow, in another encoding, or something else. */
export function anyBody(route: Route, ingredients: Ingredients): fc.Arbitrary<Body> {
  const { body, query, takesFile } = route;
  const schema = body ?? query;
  const meant = schema === undefined ? fc.constant({}) : fields(schema, ingredients.known);
  const json = meant.map((record) => JSON.stringify(record));
  const withMore = fc
    .tuple(meant, fc.dictionary(oddText, oddValue, { maxKeys: 3 }))
    .map(([record, more]) => JSON.stringify({ ...more, ...record }));
  return fc.oneof(
    { weight: 24, arbitrary: json },
    { weight: 2, arbitrary: withMore },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.constantFrom(...SPOILERS), json).map(([change, text]) => change(text)),
    },
    { weight: 1, arbitrary: json.chain((text) => fc.constantFrom(...encodings(text))) },
    { weight: 1, arbitrary: fc.constantFrom(...GARBAGE) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Uint8Array.from(bytes)) },
    { weight: takesFile === true ? 60 : 1, arbitrary: anyFile(ingredients) },
  );
}

/** A file, a file that was changed on its way, one in a form, or something enormous. */
function anyFile({ files }: Ingredients): fc.Arbitrary<Body> {
  const file = fc.constantFrom(...files);
  const changed = fc
    .tuple(file, fc.nat(), fc.constantFrom('', '0', '"', 'é', '\u0000', '}'))
    .map(([text, at, letter]) => {
      const place = at % text.length;
      return `${text.slice(0, place)}${letter}${text.slice(place + 1)}`;
    });
  const form = fc.tuple(file, fc.constantFrom('x', 'y')).map(([text, boundary]) => inForm(text, boundary));
  return fc.oneof(
    { weight: 8, arbitrary: file },
    { weight: 16, arbitrary: changed },
    { weight: 6, arbitrary: form },
    { weight: 1, arbitrary: hugeText },
  );
}

function inForm(text: string, boundary: string): string {
  const head = 'Content-Disposition: form-data; name="file"; filename="a.lic"';
  return `--${boundary}\r\n${head}\r\n\r\n${text}\r\n--${boundary}--\r\n`;
}
