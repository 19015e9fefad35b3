import type { Delivery } from './event-receiver.ts';
import { reasonOf } from './reason.ts';

interface PostOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
  /** For the whole request. */
  readonly timeoutMs: number;
  /** Aborts requests when the server stops. */
  readonly signal: AbortSignal;
}

/** The rest of an answer is ignored, but read so that the receiver can finish. */
const MAX_ANSWER_BYTES = 64 * 1024;

const GONE = 410;

/** Posts JSON once. A failure is a result, not an exception. */
export async function postJson(options: PostOptions): Promise<Delivery> {
  try {
    const response = await fetch(options.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        // A stale kept-alive connection would cost an attempt.
        connection: 'close',
        ...options.headers,
      },
      body: options.body,
      // Do not follow redirects: events only go to the configured address.
      redirect: 'manual',
      signal: AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]),
    });
    return judge(response.status, await readStart(response));
  } catch (error) {
    return options.signal.aborted ? { kind: 'stopping' } : { kind: 'failed', reason: reasonOf(error) };
  }
}

/** The status is known: a failure of the rest does not matter. */
async function readStart(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) break;
      chunks.push(chunk);
    }
  } catch {}
  return Buffer.concat(chunks).toString('utf8');
}

function judge(status: number, answer: string): Delivery {
  if (status >= 200 && status < 300) return { kind: 'delivered', status };
  if (status === GONE) return { kind: 'gone', status };
  return { kind: 'failed', reason: `it answered with status ${status}${sayWord(answer)}`, status };
}

/** A single word, such as Slack's "invalid_payload". Anything longer might repeat secrets. */
function sayWord(answer: string): string {
  return /^[a-z]+(?:_[a-z]+){1,5}$/.test(answer) && answer.length <= 40 ? `, ${answer}` : '';
}
