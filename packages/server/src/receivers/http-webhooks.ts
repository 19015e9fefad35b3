import { createHmac } from 'node:crypto';
import type { Delivery, EventReceiver, SentEvent } from './event-receiver.ts';
import { reasonOf } from './reason.ts';

export interface HttpWebhookOptions {
  readonly url: string;
  readonly secret: string;
  readonly userAgent: string;
  /** For the whole request. */
  readonly timeoutMs: number;
  /** Aborts requests when the server stops. */
  readonly signal: AbortSignal;
  /** The wall clock in milliseconds. */
  readonly readWall: () => number;
  /** The event as JSON, with the names and dates of the API. */
  readonly present: (event: SentEvent) => string;
}

/** The response body is ignored, but read so that the receiver can finish. */
const MAX_ANSWER_BYTES = 64 * 1024;

const GONE = 410;

/** A receiver that gets every event as a POST, signed with a shared secret. */
export function createHttpWebhooks(options: HttpWebhookOptions): EventReceiver {
  return {
    most: 1,
    async send([event]) {
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

function post(event: SentEvent, options: HttpWebhookOptions): Promise<Response> {
  const body = options.present(event);
  const seconds = Math.floor(options.readWall() / 1000);
  return fetch(options.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': options.userAgent,
      'berth-event-id': event.id,
      'berth-signature': `t=${seconds},v1=${sign(options.secret, `${seconds}.${body}`)}`,
      // A stale kept-alive connection would cost an attempt.
      connection: 'close',
    },
    body,
    // Do not follow redirects: events only go to the configured address.
    redirect: 'manual',
    signal: AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]),
  });
}

function sign(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex');
}

/** The status is known: a failure of the rest does not matter. */
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
  if (status >= 200 && status < 300) return { kind: 'delivered', status };
  if (status === GONE) return { kind: 'gone', status };
  return { kind: 'failed', reason: `it answered with status ${status}`, status };
}
