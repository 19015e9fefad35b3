import { readNow } from '../clock.ts';
import { ApiError, addressOf, chunksOf, send, whenUnreachable } from './api.ts';
import { connection } from './connection.ts';

/** The server sends something every 15 seconds; a slow link may delay it. */
const SILENCE_MS = 25_000;
const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 15_000;

type Listener = (kinds: ReadonlySet<string>) => void;

const listeners = new Set<Listener>();

/** Calls back after every batch of events with their kinds. */
export function followEvents(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let running: AbortController | null = null;
let lastId: string | null = null;
let wake = () => {};

/** Follows the stream until `stopLive`. Reads it with `fetch`, which tells a refusal from a lost connection. */
export async function startLive(): Promise<void> {
  stopLive();
  const control = new AbortController();
  running = control;
  let retryMs = FIRST_RETRY_MS;
  while (!control.signal.aborted) {
    const hasHeard = await readStream(control.signal).catch((error: unknown) => {
      // The session has ended, or this account may not follow: signing in starts it again.
      if (error instanceof ApiError && (error.status === 401 || error.status === 403)) control.abort();
      return false;
    });
    if (control.signal.aborted) return;
    retryMs = hasHeard ? FIRST_RETRY_MS : Math.min(retryMs * 2, MAX_RETRY_MS);
    // A stream that was merely closed, as proxies do, is opened again first.
    if (!hasHeard) {
      connection.set({ state: 'lost', heardAt: connection.get().heardAt, retryAt: readNow() + retryMs });
    }
    await pause(retryMs);
  }
}

export function stopLive(): void {
  running?.abort();
  running = null;
  connection.set({ state: 'connecting', heardAt: readNow(), retryAt: null });
}

/** Does not wait for the next attempt. */
export function retryNow(): void {
  wake();
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

let hangUp = () => {};

// The browser or a request notices a missing network before the stream does.
addEventListener('offline', () => hangUp());
addEventListener('online', () => wake());
whenUnreachable(() => hangUp());

/** Returns whether anything was heard before the stream ended; throws if it failed. */
async function readStream(signal: AbortSignal): Promise<boolean> {
  const silence = new AbortController();
  hangUp = () => silence.abort();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  const headers = { accept: 'text/event-stream', ...(lastId === null ? {} : { 'last-event-id': lastId }) };
  let hasHeard = false;
  try {
    const response = await send(
      addressOf('/api/admin/events'),
      { headers },
      AbortSignal.any([signal, silence.signal]),
    );
    const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(
      new TextDecoderStream() as never,
    ) as ReadableStream<string>;
    let rest = '';
    for await (const text of chunksOf(reader)) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
      connection.set({ state: 'live', heardAt: readNow(), retryAt: null });
      // What happened meanwhile is unknown, so everything is read again.
      if (!hasHeard) notify(new Set(['reconnected']));
      hasHeard = true;
      const end = (rest + text).lastIndexOf('\n\n');
      const whole = (rest + text).slice(0, end + 1);
      rest = (rest + text).slice(end + 1);
      readEvents(whole);
    }
  } finally {
    clearTimeout(timer);
  }
  return hasHeard;
}

/** Only the kinds: a busy server sends thousands of events, and the screens read what they show anyway. */
function readEvents(text: string): void {
  const kinds = new Set<string>();
  for (const line of text.split('\n')) {
    if (line.startsWith('event: ')) kinds.add(line.slice(7));
    else if (line.startsWith('id: ')) lastId = line.slice(4);
  }
  if (kinds.size > 0) notify(kinds);
}

function notify(kinds: ReadonlySet<string>): void {
  for (const listener of [...listeners]) listener(kinds);
}
