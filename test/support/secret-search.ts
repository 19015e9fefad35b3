/** An encoding of a secret. */
interface SecretForm {
  readonly form: string;
  readonly bytes: Buffer;
}

/** A secret is text or binary data. */
export type Secret = string | Buffer;

/** All encodings to search for. */
function formsOf(secret: Secret): readonly SecretForm[] {
  const raw = Buffer.from(secret as string);
  const hex = raw.toString('hex');
  const texts = {
    hex,
    'upper-case hex': hex.toUpperCase(),
    ...base64Forms(raw),
    ...(typeof secret === 'string' ? textForms(secret) : {}),
  };
  const forms = Object.entries(texts).map(([form, text]) => ({ form, bytes: Buffer.from(text, 'utf8') }));
  return [{ form: 'raw', bytes: raw }, ...forms];
}

function textForms(secret: string): Readonly<Record<string, string>> {
  const url = encodeURIComponent(secret);
  const json = JSON.stringify(secret).slice(1, -1);
  return {
    'URL-encoded': url,
    'URL-encoded in lower case': url.replace(/%../g, (code) => code.toLowerCase()),
    'form-encoded': new URLSearchParams({ '': secret }).toString().slice(1),
    'JSON-escaped': json,
    'JSON-escaped with slashes': json.replaceAll('/', '\\/'),
    'JSON-escaped to ASCII': json.replace(/[^ -~]/g, escapeUnicode),
  };
}

function escapeUnicode(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Base64 encodes three bytes as four characters, so a secret inside other data has three encodings. Omits
 * characters that also depend on the neighbouring bytes.
 */
function base64Forms(raw: Buffer): Readonly<Record<string, string>> {
  const forms: Record<string, string> = {};
  for (const offset of [0, 1, 2]) {
    for (const encoding of ['base64', 'base64url'] as const) {
      const text = Buffer.concat([Buffer.alloc(offset), raw]).toString(encoding);
      const end = Math.floor(((offset + raw.length) * 8) / 6);
      forms[`${encoding} at ${offset}`] = text.slice(Math.ceil((offset * 8) / 6), end);
    }
  }
  return forms;
}

/** The names of the encodings of the secret that the bytes contain. */
export function findForms(bytes: Buffer, secret: Secret): readonly string[] {
  return formsOf(secret)
    .filter((candidate) => bytes.includes(candidate.bytes))
    .map(({ form }) => form);
}
