/** A request, as it goes over the wire. */
export interface Sent {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** An object is sent as JSON, a text as it is. */
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Received {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  /** What the text says, if it is a JSON object; otherwise an empty one. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly isObject: boolean;
}

const TIMEOUT_MS = 30_000;

/** What a server says that cannot be reached. */
const NOTHING = { status: 0, type: '', body: {}, isObject: false };

export async function exchange(url: string, { method, path, body, headers }: Sent): Promise<Received> {
  const content = typeof body === 'object' ? JSON.stringify(body) : body;
  const type = content === undefined ? {} : { 'Content-Type': 'application/json' };
  try {
    const answer = await fetch(new URL(path.slice(1), url.endsWith('/') ? url : `${url}/`), {
      method,
      headers: { Accept: 'application/json', ...type, ...headers },
      body: content ?? null,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await answer.text();
    const parsed = parseObject(text);
    const facts = { status: answer.status, type: answer.headers.get('content-type') ?? '', text };
    return { ...facts, body: parsed ?? {}, isObject: parsed !== null };
  } catch (error) {
    const { message, cause } = error as Error;
    return { ...NOTHING, text: `no answer: ${cause instanceof Error ? cause.message : message}` };
  }
}

function parseObject(text: string): Received['body'] | null {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** Long answers are cut: what is wrong is said beside them. */
const MAX_SHOWN = 600;

export function showSent({ method, path, body, headers = {} }: Sent): string {
  const content = body === undefined ? '' : ` ${typeof body === 'string' ? body : JSON.stringify(body)}`;
  const more = Object.entries(headers).map(([name, value]) => ` ${name}: ${hide(name, value)}`);
  return `${method} ${path}${more.join('')}${content}`;
}

export function showReceived({ status, type, text }: Received): string {
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return `${status} ${type} ${shown}`.trim();
}

/** Whatever lets somebody in stays out of reports. */
function hide(name: string, value: string): string {
  return name === 'Authorization' && value.length > 20 ? `${value.slice(0, 10)}…` : value;
}
