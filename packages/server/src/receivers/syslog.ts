import { createSocket, type Socket as Datagrams } from 'node:dgram';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import type { Delivery, EventReceiver, SentEvent } from './event-receiver.ts';
import { reasonOf } from './reason.ts';

export interface SyslogOptions {
  /** `tls:`, `tcp:` or `udp:`, with a host and perhaps a port. */
  readonly url: string;
  /** PEM of those that vouch for the receiver, instead of those that Node knows. */
  readonly ca: string | null;
  /** Of this machine. */
  readonly hostname: string;
  /** For the whole attempt. */
  readonly timeoutMs: number;
  /** Ends attempts when the server stops. */
  readonly signal: AbortSignal;
  /** The event as JSON, with the names and dates of the API. */
  readonly present: (event: SentEvent) => string;
}

const PORTS = { 'tls:': 6514, 'tcp:': 514, 'udp:': 514 } as const;

/** How many events share a connection. */
const MOST = 500;

/** The most that a datagram holds, less its headers. */
const MAX_DATAGRAM_BYTES = 65_000;

/** The facility "log audit" and the severity "informational", as RFC 5424 counts them. */
const PRIORITY = 13 * 8 + 6;

/** A receiver that wants none of it closes the connection sooner than this. */
const SETTLE_MS = 200;

/**
 * A syslog receiver (RFC 5424). Syslog has no answers, so each portion has a connection of its own: a
 * receiver that closes it after our end has read everything before. A datagram may get lost unnoticed.
 */
export function createSyslog(options: SyslogOptions): EventReceiver {
  return {
    most: MOST,
    async send(events) {
      const messages = events.map((event) => formatMessage(event, options));
      const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]);
      try {
        signal.throwIfAborted();
        if (new URL(options.url).protocol === 'udp:') await sendDatagrams(messages, options, signal);
        else await sendStream(messages, options, signal);
        return { kind: 'delivered' };
      } catch (error) {
        return judge(error, options.signal);
      }
    },
  };
}

class ClosedEarly extends Error {}

function judge(error: unknown, { aborted }: AbortSignal): Delivery {
  if (aborted) return { kind: 'stopping' };
  const isClosed = error instanceof ClosedEarly;
  return { kind: 'failed', reason: isClosed ? 'it closed the connection too early' : reasonOf(error) };
}

function formatMessage(event: SentEvent, { hostname, present }: SyslogOptions): Buffer {
  const { kind } = event.event;
  const host = /^[\x21-\x7e]{1,255}$/.test(hostname) ? hostname : '-';
  const head = `<${PRIORITY}>1 ${new Date(event.at).toISOString()} ${host} berth - ${kind.slice(0, 32)} -`;
  return Buffer.from(`${head} ${present(event)}`);
}

function placeOf(url: string) {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  return { host, port: port === '' ? PORTS[protocol as keyof typeof PORTS] : Number(port) };
}

/** Each message is preceded by its length (RFC 6587, RFC 5425). */
async function sendStream(
  messages: readonly Buffer[],
  { url, ca }: SyslogOptions,
  signal: AbortSignal,
): Promise<void> {
  const { host, port } = placeOf(url);
  const named = isIP(host) === 0 ? { servername: host } : {};
  const socket = url.startsWith('tls:')
    ? connectSecurely({ host, port, ...named, ...(ca === null ? {} : { ca }) })
    : connectPlain({ host, port });
  const abort = () => socket.destroy(signal.reason);
  signal.addEventListener('abort', abort);
  try {
    await deliver(socket, Buffer.concat(messages.flatMap((one) => [Buffer.from(`${one.length} `), one])));
  } finally {
    signal.removeEventListener('abort', abort);
    socket.destroy();
  }
}

/** Resolves when the receiver has closed the connection after our end, and so has read everything. */
function deliver(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let hasEnded = false;
    const end = () => {
      hasEnded = true;
      socket.end();
    };
    socket.on('error', reject);
    socket.on('end', () => (hasEnded ? resolve() : reject(new ClosedEarly())));
    socket.on('close', () => reject(new ClosedEarly()));
    // What it says does not matter, but its end is only noticed when all of it was read.
    socket.resume();
    socket.write(bytes, () => setTimeout(end, SETTLE_MS));
  });
}

async function sendDatagrams(
  messages: readonly Buffer[],
  { url }: SyslogOptions,
  signal: AbortSignal,
): Promise<void> {
  const { host, port } = placeOf(url);
  const socket = createSocket(isIP(host) === 6 ? 'udp6' : 'udp4');
  try {
    await new Promise<void>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
      // Where nobody listens, the network may say so at any time.
      socket.on('error', reject);
      socket.connect(port, host, () => sendAll(socket, messages).then(resolve, reject));
    });
  } finally {
    socket.close();
  }
}

async function sendAll(socket: Datagrams, messages: readonly Buffer[]): Promise<void> {
  for (const message of messages) {
    // The rest is in the audit log; without the cut, this event would block all that follow.
    const cut = message.subarray(0, MAX_DATAGRAM_BYTES);
    await new Promise<void>((resolve, reject) => {
      socket.send(cut, (error) => (error == null ? resolve() : reject(error)));
    });
  }
}
