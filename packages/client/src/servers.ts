import { type Environment, NotSentError, type WireAnswer, type WireRequest } from './environment.ts';
import { BerthError, DeniedError, type FailedAttempt, UnreachableError } from './errors.ts';
import type { SteadyClock } from './steady-clock.ts';

/** An answer that is not a refusal. */
export interface Answer {
  readonly fields: Readonly<Record<string, unknown>>;
  /** By the steady clock, before the request left. */
  readonly sentAtMs: number;
  readonly date: string | null;
  /** The address of the server that has answered. */
  readonly server: string;
}

interface ServersOptions {
  readonly urls: readonly string[];
  readonly token: string | (() => string | Promise<string>) | null;
  readonly timeoutMs: number;
}

/** A server has read the request, but it may well accept it a little later. */
const TRY_LATER = new Set([408, 429]);

/** The servers that share the licenses. A request goes to the one that answered last, then to the others. */
export class Servers {
  readonly #environment: Environment;
  readonly #clock: SteadyClock;
  readonly #options: ServersOptions;
  #current = 0;
  #token: string | null = null;

  constructor(environment: Environment, clock: SteadyClock, options: ServersOptions) {
    this.#environment = environment;
    this.#clock = clock;
    this.#options = { ...options, urls: options.urls.map(readUrl) };
    if (options.urls.length === 0) {
      throw new BerthError('invalid_option', 'There is no server.', 'Give "server": the address of Berth.');
    }
  }

  /** Throws a `DeniedError` for a refusal and an `UnreachableError` if no server answers. */
  async post(path: string, body: object, headers: Record<string, string> = {}): Promise<Answer> {
    const { urls, token } = this.#options;
    if (token !== null) this.#token = typeof token === 'string' ? token : await askFor(token);
    const attempts: FailedAttempt[] = [];
    let cause: { advice?: string } | undefined;
    const first = this.#current;
    for (let tried = 0; tried < urls.length; tried++) {
      // Other requests may be under way, and may have moved on.
      const index = (first + tried) % urls.length;
      this.#current = index;
      const server = this.#url;
      const request = this.describe(path, body, headers);
      const sentAtMs = this.#clock.readMs();
      try {
        const answer = await this.#environment.send(request);
        if (answer.status < 500 && !TRY_LATER.has(answer.status)) {
          this.#current = index;
          return { ...readAnswer(path, answer), sentAtMs, server };
        }
        const mayHaveArrived = !TRY_LATER.has(answer.status);
        attempts.push({ server, reason: describeFailure(answer), mayHaveArrived });
      } catch (error) {
        if (error instanceof DeniedError) throw error;
        const reason = error instanceof Error ? error.message : String(error);
        attempts.push({ server, reason, mayHaveArrived: !(error instanceof NotSentError) });
        cause = error as { advice?: string };
      }
      this.#current = (index + 1) % urls.length;
    }
    throw new UnreachableError(attempts, cause, cause);
  }

  /** The request as it would be sent now, with the last known token. */
  describe(path: string, body: object, headers: Record<string, string> = {}): WireRequest {
    return {
      url: `${this.#url}/api/v4/${path}`,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(this.#token === null ? {} : { authorization: `Bearer ${this.#token}` }),
        ...headers,
      },
      body: JSON.stringify(body),
      timeoutMs: this.#options.timeoutMs,
    };
  }

  get #url(): string {
    return this.#options.urls[this.#current] as string;
  }
}

function readUrl(text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text.replace(/\/$/, '').replace(/\/api\/v4$/, '');
  throw new BerthError('invalid_option', `"${text}" is not an address.`, 'Write it like http://host:8080.');
}

function readFields(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function describeFailure({ status, text }: WireAnswer): string {
  const { message } = readFields(text);
  return typeof message === 'string' ? message : `HTTP status ${status}`;
}

function readAnswer(path: string, answer: WireAnswer): Pick<Answer, 'fields' | 'date'> {
  const fields = readFields(answer.text);
  const isFine = answer.status >= 200 && answer.status < 300;
  if (isFine && isFromBerth(path, fields, answer.text)) return { fields, date: answer.date };
  if (!isFine && typeof fields.code === 'string') throw new DeniedError(answer.status, fields, answer);
  throw new Error(`HTTP status ${answer.status}, and not from Berth`);
}

/** Others answer 200, too: the page of a guest network, a proxy, another service. No request has these. */
function isFromBerth(path: string, fields: Answer['fields'], text: string): boolean {
  const { total_consumptions, slot_ends_in_seconds, floating_timeout, borrowed_until } = fields;
  if (path === 'unregister') return text.includes('user_unregistered');
  if (path === 'featureRelease') return text.includes('feature_released');
  if (path.endsWith('consumption')) return typeof total_consumptions === 'number';
  if (path === 'borrow' && Number.isNaN(Date.parse(String(borrowed_until)))) return false;
  const lasts = slot_ends_in_seconds ?? floating_timeout;
  return typeof lasts === 'number' && lasts >= 0;
}

/** Without a token no server can be asked; later perhaps. */
async function askFor(token: () => string | Promise<string>): Promise<string> {
  try {
    return await token();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const attempt = { server: 'the token', reason, mayHaveArrived: false };
    const advice = 'Correct the function that the program gives as "token".';
    throw new UnreachableError([attempt], error, { advice }, `The function "token" failed: ${reason}.`);
  }
}
