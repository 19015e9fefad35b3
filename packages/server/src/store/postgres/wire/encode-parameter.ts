export type Scalar = string | number | bigint | boolean | Uint8Array | null;

/** A parameter of a statement. Lists are for `= ANY($1)` and `unnest($1)`. */
export type Parameter = Scalar | readonly Scalar[];

/** The protocol counts them in two bytes. */
const MAX_PARAMETERS = 65_534;

/** Encodes and checks parameters: all of them travel as text. */
export function encodeParameters(parameters: readonly Parameter[]): readonly (string | null)[] {
  if (parameters.length > MAX_PARAMETERS)
    throw new RangeError(`A statement cannot have ${parameters.length} parameters.`);
  return parameters.map((parameter) => {
    if (isList(parameter)) return encodeList(parameter);
    return check(parameter) === null ? null : encodeText(parameter);
  });
}

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
