type Scalar = string | number | bigint | boolean | Uint8Array | null;

/** A parameter of a statement. Lists are for `= ANY($1)` and `unnest($1)`. */
export type Parameter = Scalar | readonly Scalar[];

/** The protocol counts them in two bytes. */
const MOST_PARAMETERS = 65_534;

/**
 * Encodes and checks parameters. The driver must not throw over one: while other statements are under way it
 * would match the next answers to the wrong statements.
 */
export function encodeParameters(parameters: readonly Parameter[]): Scalar[] {
  if (parameters.length > MOST_PARAMETERS)
    throw new RangeError(`A statement cannot have ${parameters.length} parameters.`);
  return parameters.map((parameter) => (isList(parameter) ? encodeList(parameter) : check(parameter)));
}

/**
 * Values travel as PostgreSQL's text. The driver's own encoders for dates and JSON throw over some values.
 * 64-bit integers become numbers: times and counters are far below 2^53.
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

/** The text of an array. The statement says of which type. */
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
