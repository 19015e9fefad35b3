export type Scalar = string | number | bigint | boolean | Uint8Array | null;

/** What a statement can be given. A list is for `= ANY($1)` and `unnest($1)`. */
export type Parameter = Scalar | readonly Scalar[];

/** The wire has two bytes for how many there are. */
const MOST_PARAMETERS = 65_534;

/**
 * Parameters as the driver takes them. It must not fail over one: when it does while other statements are on
 * their way, it takes the next answers for those of the wrong statements. So whatever it would fail over is
 * found here.
 */
export function encodeParameters(parameters: readonly Parameter[]): Scalar[] {
  if (parameters.length > MOST_PARAMETERS)
    throw new RangeError(`A statement cannot have ${parameters.length} parameters.`);
  return parameters.map((parameter) => (isList(parameter) ? encodeList(parameter) : check(parameter)));
}

/**
 * How values travel: as the text that PostgreSQL knows them by. The driver's own ways for dates and JSON fail
 * over values that they do not like. Large numbers become numbers: times and counters are far below 2^53.
 */
export const WIRE_TYPES = {
  int8: { to: 20, from: [20], serialize: String, parse: Number },
  bytea: { to: 17, from: [17], serialize: encodeText, parse: decodeBytes },
  json: { to: 114, from: [114, 3802], serialize: String, parse: String },
  date: { to: 1184, from: [1082, 1114, 1184], serialize: String, parse: String },
};

function isList(parameter: Parameter): parameter is readonly Scalar[] {
  return Array.isArray(parameter);
}

function check(value: Scalar): Scalar {
  const isKnown =
    value === null ||
    value instanceof Uint8Array ||
    ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
  if (!isKnown) throw new TypeError(`A statement cannot be given a parameter of type ${typeof value}.`);
  return value;
}

/** The text of an array. Which type its elements have, the statement says. */
function encodeList(values: readonly Scalar[]): string {
  const texts = values.map((value) => {
    if (check(value) === null) return 'NULL';
    return `"${encodeText(value).replace(/[\\"]/g, '\\$&')}"`;
  });
  return `{${texts.join(',')}}`;
}

function encodeText(value: unknown): string {
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : String(value);
}

function decodeBytes(text: string): Uint8Array {
  return Buffer.from(text.slice(2), 'hex');
}
