/** A way in which a secret may stand somewhere. */
interface SecretForm {
  readonly form: string;
  readonly bytes: Buffer;
}

/** A secret is text, or bytes that are no text. */
export type Secret = string | Buffer;

/** Every form in which a secret is looked for. */
export function formsOf(secret: Secret): readonly SecretForm[] {
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
 * Base64 writes three bytes as four letters, so a secret in the middle of something has three forms. Letters
 * that its neighbours have a part in are left out.
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

/** The names of the forms in which a secret stands in some bytes. */
export function findForms(bytes: Buffer, secret: Secret): readonly string[] {
  return formsOf(secret)
    .filter((candidate) => bytes.includes(candidate.bytes))
    .map(({ form }) => form);
}
