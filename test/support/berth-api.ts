import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';

/** A response: the status, and the body as text and, if it is JSON, as facts. */
export interface Answer {
  readonly status: number;
  readonly body: Facts;
  readonly text: string;
  /** Missing in responses that a test makes up. */
  readonly headers?: IncomingHttpHeaders;
}

export type Facts = Readonly<Record<string, unknown>>;

type Headers = Readonly<Record<string, string>>;

/** A user of a slot, as listed by the admin API. */
export interface Holder {
  readonly license_id: number;
  readonly user: string;
  readonly ip_local: string | null;
  readonly registered_at: string;
  readonly ends_at: string;
  readonly is_borrowed: boolean;
  readonly borrowed_until: string | null;
  readonly programs: number;
}

export interface AuditedEvent extends Facts {
  readonly seq: number;
  readonly license_id: number | null;
  readonly kind: string;
}

export interface ClockFacts {
  readonly server_at: string;
  readonly wall_at: string;
  readonly ahead_ms: number;
  readonly jump: { readonly direction: 'ahead' | 'behind'; readonly gap_ms: number } | null;
}

/** Later responses count as missing, so that no test hangs. */
const ANSWER_TIMEOUT_MS = 30_000;

/** A client of a running server, with separate keep-alive connections. */
export class BerthApi {
  readonly #url: string;
  readonly #agent: Agent;
  readonly #answerTimeoutMs: number;

  /** `ca`: who has signed the server's certificate. */
  constructor(url: string, { connections = 32, answerTimeoutMs = ANSWER_TIMEOUT_MS, ca = '' } = {}) {
    this.#url = url;
    this.#answerTimeoutMs = answerTimeoutMs;
    const options = { keepAlive: true, maxSockets: connections };
    this.#agent = url.startsWith('https:') ? new TlsAgent({ ...options, ca }) : new Agent(options);
  }

  get(path: string): Promise<Answer> {
    return this.#send('GET', path, null, {});
  }

  post(path: string, body: Facts = {}, headers: Headers = {}): Promise<Answer> {
    return this.#send('POST', path, JSON.stringify(body), headers);
  }

  register(body: Facts): Promise<Answer> {
    return this.post('/api/v4/register', body);
  }

  borrow(body: Facts): Promise<Answer> {
    return this.post('/api/v4/borrow', body);
  }

  unregister(body: Facts): Promise<Answer> {
    return this.post('/api/v4/unregister', body);
  }

  health(): Promise<Answer> {
    return this.get('/api/v4/health');
  }

  async clock(): Promise<ClockFacts> {
    return (await this.#ask('/api/admin/clock')) as unknown as ClockFacts;
  }

  /** All users of slots, from all pages. */
  async holders(): Promise<readonly Holder[]> {
    const all: Holder[] = [];
    for (let next: Record<string, string> | null = {}; next !== null; ) {
      const body = await this.#ask(`/api/admin/registrations?${new URLSearchParams(next)}`);
      all.push(...(body.registrations as readonly Holder[]));
      next = body.next as Record<string, string> | null;
    }
    return all;
  }

  async holder(user: string): Promise<Holder | undefined> {
    return (await this.holders()).find((holder) => holder.user === user);
  }

  async licenses(): Promise<readonly Facts[]> {
    return (await this.#ask('/api/admin/licenses')).licenses as readonly Facts[];
  }

  /** Events after a sequence number, newest first. */
  async eventsAfter(seq: number): Promise<readonly AuditedEvent[]> {
    const all: AuditedEvent[] = [];
    let before = '';
    for (;;) {
      const page = (await this.#ask(`/api/admin/audit${before}`)).events as readonly AuditedEvent[];
      all.push(...page.filter((event) => event.seq > seq));
      const oldest = page.at(-1);
      if (oldest === undefined || oldest.seq <= seq) return all;
      before = `?before=${oldest.seq}`;
    }
  }

  verifyAudit(): Promise<Facts> {
    return this.#ask('/api/admin/audit/verify');
  }

  close(): void {
    this.#agent.destroy();
  }

  async #ask(path: string): Promise<Facts> {
    const { status, body, text } = await this.get(path);
    if (status !== 200) throw new Error(`GET ${path} was answered with ${status}: ${text}`);
    return body;
  }

  #send(method: string, path: string, body: string | null, extra: Headers): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = { ...(body === null ? {} : { 'content-type': 'application/json' }), ...extra };
      const options = { method, agent: this.#agent, headers, timeout: this.#answerTimeoutMs };
      const send = this.#url.startsWith('https:') ? requestTls : request;
      const outgoing = send(`${this.#url}${path}`, options, (incoming) => {
        let text = '';
        incoming.setEncoding('utf8');
        incoming.on('data', (chunk: string) => {
          text += chunk;
        });
        incoming.on('error', reject);
        incoming.on('end', () => {
          resolve({ status: incoming.statusCode ?? 0, body: parse(text), text, headers: incoming.headers });
        });
      });
      outgoing.on('timeout', () => outgoing.destroy(new Error(`${method} ${path} was not answered.`)));
      outgoing.on('error', reject);
      outgoing.end(body ?? undefined);
    });
  }
}

/** A response that is not JSON has no facts. */
function parse(text: string): Facts {
  try {
    return JSON.parse(text) as Facts;
  } catch {
    return {};
  }
}
