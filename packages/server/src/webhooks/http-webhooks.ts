import { createHmac } from 'node:crypto';
import type { Delivery, WebhookEvent, WebhookReceiver } from './webhooks.ts';

export interface HttpWebhookOptions {
  readonly url: string;
  readonly secret: string;
  readonly userAgent: string;
  /** For a whole exchange. */
  readonly timeoutMs: number;
  /** Cuts off what is under way when the server stops. */
  readonly signal: AbortSignal;
  /** What the machine believes the date to be, in milliseconds. */
  readonly readWall: () => number;
  /** The event in the names and dates of the API. */
  readonly present: (event: WebhookEvent) => Readonly<Record<string, unknown>>;
}

/** What a receiver may say is of no interest; it is read so that it can end what it began. */
const MAX_ANSWER_BYTES = 64 * 1024;

const GONE = 410;

/** A receiver that takes every event as a POST of its own, signed with a secret that both know. */
export function createHttpWebhooks(options: HttpWebhookOptions): WebhookReceiver {
  return {
    async send(event) {
      try {
        const response = await post(event, options);
        await readAway(response);
        return judge(response.status);
      } catch (error) {
        return options.signal.aborted ? { kind: 'stopping' } : { kind: 'failed', reason: reasonOf(error) };
      }
    },
  };
}

function post(event: WebhookEvent, options: HttpWebhookOptions): Promise<Response> {
  const body = JSON.stringify({ id: event.id, kind: event.event.kind, ...options.present(event) });
  const seconds = Math.floor(options.readWall() / 1000);
  return fetch(options.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': options.userAgent,
      'berth-event-id': event.id,
      'berth-signature': `t=${seconds},v1=${sign(options.secret, `${seconds}.${body}`)}`,
      // A connection that was kept and has gone stale would cost a try.
      connection: 'close',
    },
    body,
    // Events go nowhere but to the address that was configured.
    redirect: 'manual',
    signal: AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]),
  });
}

function sign(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex');
}

/** The status has been heard: what becomes of the rest changes nothing. */
async function readAway(response: Response): Promise<void> {
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) return;
    }
  } catch {}
}

function judge(status: number): Delivery {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (status === GONE) return { kind: 'gone' };
  return { kind: 'failed', reason: `it answered with the status ${status}` };
}

/** Never what a receiver has said, which might repeat something that is nobody else's business. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'it did not answer in time';
  return `it cannot be reached (${codeOf(error) || 'no reason'})`;
}

/** The driver wraps the reason, sometimes twice. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string') return code;
  return codeOf(error instanceof AggregateError ? error.errors[0] : error.cause);
}
