import { hostname } from 'node:os';
import type { ChannelTarget } from '../core/notify/channel.ts';
import type { Message } from '../core/notify/message.ts';
import { fillTemplate } from '../core/notify/template.ts';
import { MINUTE_MS, SECOND_MS } from '../core/nouns/instant.ts';
import { slackBody, teamsBody } from '../receivers/chat-bodies.ts';
import type { MessageReceiver } from '../receivers/event-receiver.ts';
import { postJson } from '../receivers/http-post.ts';
import { createMail } from '../receivers/mail.ts';
import { refuseAddresses } from '../receivers/refused-addresses.ts';
import { type ChannelOptions, Channels } from '../services/events/channels.ts';
import type { CurrentSettings } from '../services/settings/live-settings.ts';
import { readCertificates } from './read-certificates.ts';
import type { ServerEnvironment } from './serve-options.ts';
import { writeReports } from './write-reports.ts';

/** For a whole delivery. */
const TIMEOUT_MS = 10 * SECOND_MS;

/**
 * A mail server may look up names before it greets, and examine a mail for minutes. One that is cut off then
 * may deliver it all the same, and would get it again.
 */
const MAIL_CONNECT_TIMEOUT_MS = 30 * SECOND_MS;
const MAIL_TIMEOUT_MS = 5 * MINUTE_MS;

interface Options extends Omit<ChannelOptions, 'open' | 'writeReports'> {
  readonly settings: CurrentSettings;
  readonly signal: AbortSignal;
  /** `false` for commands that open the data of a stopped server. */
  readonly isServing: boolean;
  readonly environment: ServerEnvironment;
}

export function composeChannels(options: Options): Channels {
  const { settings, signal, isServing, environment } = options;
  const readCa = rememberCa(settings);
  // A file that is wrong prevents a start.
  if (isServing) readCa();
  const userAgent = `Berth/${environment.version}`;
  const refused = refuseAddresses(settings.current.notify);
  const post = (url: string, write: (message: Message) => string, authorization: string | null = null) => ({
    send: (message: Message) => {
      const headers = { 'user-agent': userAgent, ...(authorization === null ? {} : { authorization }) };
      return postJson({ url, headers, body: write(message), refused, timeoutMs: TIMEOUT_MS, signal });
    },
  });
  return new Channels({
    ...options,
    writeReports: (span) => writeReports(options.store, span),
    open: (target): MessageReceiver => {
      switch (target.kind) {
        case 'mail':
          return createMail({
            target,
            readCa,
            refused,
            hostname: hostname(),
            connectTimeoutMs: MAIL_CONNECT_TIMEOUT_MS,
            timeoutMs: MAIL_TIMEOUT_MS,
            signal,
          });
        case 'slack':
          return post(target.url, slackBody);
        case 'teams':
          return post(target.url, teamsBody);
        case 'webhook':
          return post(target.url, writeBody(target), target.authorization);
      }
    },
  });
}

/** The file is read once: it may be replaced or removed while the server runs. */
function rememberCa(settings: CurrentSettings): () => string | null {
  let last: { readonly file: string; readonly ca: string | null } | null = null;
  return () => {
    const { caFile: file } = settings.current.mail;
    if (last?.file !== file) last = { file, ca: readCertificates('mail.caFile', file) };
    return last.ca;
  };
}

function writeBody({ template }: Extract<ChannelTarget, { kind: 'webhook' }>) {
  return (message: Message) => fillTemplate(template, message, hostname());
}
