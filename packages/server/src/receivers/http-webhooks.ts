import { createHmac } from 'node:crypto';
import type { BlockList } from 'node:net';
import type { EventReceiver, SentEvent } from './event-receiver.ts';
import { postJson } from './http-post.ts';

interface HttpWebhookOptions {
  readonly url: string;
  readonly secret: string;
  readonly userAgent: string;
  readonly refused: BlockList;
  /** For the whole request. */
  readonly timeoutMs: number;
  /** Aborts requests when the server stops. */
  readonly signal: AbortSignal;
  /** The wall clock in milliseconds. */
  readonly readWall: () => number;
  /** The event as JSON, with the names and dates of the API. */
  readonly present: (event: SentEvent) => string;
}

/** A receiver that gets every event as a POST, signed with a shared secret. */
export function createHttpWebhooks(options: HttpWebhookOptions): EventReceiver {
  return {
    most: 1,
    send: ([event]) => {
      const body = options.present(event);
      const seconds = Math.floor(options.readWall() / 1000);
      const headers = {
        'user-agent': options.userAgent,
        'berth-event-id': event.id,
        'berth-signature': `t=${seconds},v1=${sign(options.secret, `${seconds}.${body}`)}`,
      };
      return postJson({ ...options, headers, body });
    },
  };
}

function sign(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex');
}
