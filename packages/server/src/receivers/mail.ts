import { type BlockList, Socket } from 'node:net';
import { escapeUnprintable } from '@berth/protocol/hidden-characters';
import { ConfigError } from '../config.ts';
import type { MailTarget } from '../core/notify/channel.ts';
import type { Message } from '../core/notify/message.ts';
import type { Delivery, MessageReceiver } from './event-receiver.ts';
import { reasonOf, sayUnreachable } from './reason.ts';

interface MailOptions {
  readonly target: MailTarget;
  /** Certificates that vouch for the mail server; `null`: those that Node knows. It may throw. */
  readonly readCa: () => string | null;
  readonly refused: BlockList;
  /** Of this server, for EHLO and message ids. */
  readonly hostname: string;
  /** Until the server greets. */
  readonly connectTimeoutMs: number;
  /** For the whole delivery. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Sends plain text by mail, so that nothing in it is markup. */
export function createMail(options: MailOptions): MessageReceiver {
  return {
    async send(message) {
      const delivery = await sendOnce(message, options);
      const isTooLarge = delivery.kind === 'failed' && TOO_LARGE.has(delivery.status ?? 0);
      if (!isTooLarge || message.files === undefined) return delivery;
      const { files, lines, ...rest } = message;
      const remark = 'The mail server refused this mail with its files, so it has none.';
      return sendOnce({ ...rest, lines: [...lines, remark] }, options);
    },
  };
}

/** "Exceeded storage allocation", and "transaction failed", which a filter says. */
const TOO_LARGE: ReadonlySet<number> = new Set([552, 554]);

async function sendOnce(message: Message, options: MailOptions): Promise<Delivery> {
  // Closing a transport leaves its connection open, and a server that is slow would deliver later.
  const socket = new Socket({ blockList: options.refused });
  try {
    const transport = await openTransport(options, socket);
    if (options.signal.aborted) return { kind: 'stopping' };
    const sending = transport.sendMail(writeMail(message, options));
    const { response, rejected } = await withinTime(sending, options);
    const remark = rejected.length === 0 ? {} : { remark: `it refused ${rejected.join(', ')}` };
    return { kind: 'delivered', status: Number(response.slice(0, 3)), ...remark };
  } catch (error) {
    return options.signal.aborted ? { kind: 'stopping' } : explain(error);
  } finally {
    socket.destroy();
  }
}

/** Most servers and commands send no mail, so the package is loaded when it is needed. */
async function openTransport(options: MailOptions, socket: Socket) {
  const { target, hostname, connectTimeoutMs, timeoutMs } = options;
  const ca = options.readCa();
  const { createTransport } = await import('nodemailer');
  const { host, port, security, user, password } = target;
  return createTransport({
    host,
    port,
    name: hostname,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    socket,
    connectionTimeout: connectTimeoutMs,
    greetingTimeout: connectTimeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: connectTimeoutMs,
    tls: { minVersion: 'TLSv1.2', ...(ca === null ? {} : { ca }) },
    // A message must not read files or fetch addresses.
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(user === null ? {} : { auth: { user, pass: password ?? '' } }),
  });
}

/** Names that differ have ids that differ. */
function encode(character: string): string {
  return `_${character.codePointAt(0)?.toString(16)}_`;
}

const PRIORITIES = { critical: 'high', warning: 'normal', info: 'normal' } as const;

function writeMail({ id, title, lines, severity, files = [] }: Message, { target, hostname }: MailOptions) {
  return {
    from: target.from,
    to: [...target.to],
    subject: `[Berth] ${escapeUnprintable(title)}`,
    text: `${lines.join('\n\n')}\n\n-- \nBerth on ${hostname}\n`,
    messageId: `<${id.replaceAll(/[^\w.-]/gu, encode)}@${hostname}>`,
    priority: PRIORITIES[severity],
    attachments: files.map(({ name, content }) => ({ filename: name, content, contentType: 'text/csv' })),
    // Vacation notices are not wanted.
    headers: { 'Auto-Submitted': 'auto-generated' },
  };
}

class LateError extends Error {
  override readonly name = 'TimeoutError';
}

/** A server that sends a byte now and then is cut off, too. */
async function withinTime<T>(sending: Promise<T>, { timeoutMs, signal }: MailOptions): Promise<T> {
  // Whatever becomes of it after that is not of interest.
  sending.catch(() => {});
  const { promise: late, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(new LateError());
  const timer = setTimeout(giveUp, timeoutMs);
  signal.addEventListener('abort', giveUp);
  try {
    return await Promise.race([sending, late]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  }
}

const MAX_RESPONSE = 200;

interface MailError {
  readonly response?: unknown;
  readonly responseCode?: number;
  readonly code?: string;
  /** What nodemailer has replaced by a code of its own. */
  readonly originalCode?: string;
}

/** What the mail server answered says what to do. It is shown as it is; few servers repeat what they got. */
function explain(error: unknown): Delivery {
  if (error instanceof ConfigError) return { kind: 'failed', reason: error.message.replace(/\.$/, '') };
  const { response, responseCode: status, code, originalCode } = error as MailError;
  const said = typeof response === 'string' ? cutResponse(response) : null;
  if (code === 'ETLS') {
    const why = said === null ? (originalCode ?? code) : `"${said}"`;
    return { kind: 'failed', reason: `it offers no encrypted connection (${why})` };
  }
  if (said !== null && status !== undefined) {
    return { kind: 'failed', reason: `it answered "${said}"`, status };
  }
  if (code === 'ETIMEDOUT') return { kind: 'failed', reason: 'it did not answer in time' };
  if (originalCode !== undefined) return { kind: 'failed', reason: sayUnreachable(originalCode) };
  return { kind: 'failed', reason: reasonOf(error) };
}

function cutResponse(response: string): string {
  return escapeUnprintable(response.split('\n', 1)[0] as string).slice(0, MAX_RESPONSE);
}
