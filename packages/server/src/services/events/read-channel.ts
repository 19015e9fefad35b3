import { RequestError } from '@berth/protocol/request-error';
import { suggest } from '@berth/protocol/suggest';
import {
  type Channel,
  type ChannelTarget,
  isLoopback,
  type MailSecurity,
  type MailTarget,
} from '../../core/notify/channel.ts';
import { explainTemplate } from '../../core/notify/template.ts';
import { TOPIC_NAMES, type Topic } from '../../core/nouns/topics.ts';
import { isZone } from '../../core/rules/local-time.ts';

/** What a caller says about a channel. What is left out stays as it is; `''` takes a value away. */
export interface ChannelWish {
  readonly kind?: ChannelTarget['kind'] | undefined;
  readonly to?: readonly string[] | undefined;
  readonly from?: string | undefined;
  readonly server?: string | undefined;
  readonly security?: MailSecurity | undefined;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly url?: string | undefined;
  readonly template?: string | undefined;
  readonly authorization?: string | undefined;
  readonly topics?: readonly string[] | undefined;
  readonly gapMinutes?: number | undefined;
  /** Such as 20:00-07:00; `off`: none. */
  readonly quiet?: string | undefined;
  readonly quietWeekends?: boolean | undefined;
  readonly timeZone?: string | undefined;
  readonly digest?: boolean | undefined;
  readonly paused?: boolean | undefined;
}

const DEFAULT_GAP_MINUTES = 10;
const MAX_GAP_MINUTES = 24 * 60;
const MAX_RECIPIENTS = 20;
const MAX_TEMPLATE = 8000;

/** A channel as wished; throws what is wrong with it. */
export function readChannel(name: string, wish: ChannelWish, known: Channel | null): Channel {
  if (!/^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,39}$/u.test(name)) {
    fail('name', 'must be 1 to 40 letters, digits, blanks, ".", "-" or "_"');
  }
  const { gapMinutes = known?.gapMinutes ?? DEFAULT_GAP_MINUTES, timeZone: zone = known?.zone ?? 'UTC' } =
    wish;
  if (gapMinutes > MAX_GAP_MINUTES) fail('gap_minutes', `must not be more than ${MAX_GAP_MINUTES}`);
  if (!isZone(zone)) {
    fail(
      'time_zone',
      `must be a time zone such as Europe/Berlin.${suggest(zone, Intl.supportedValuesOf('timeZone'))}`,
    );
  }
  return {
    name,
    target: readTarget(wish, known?.target ?? null),
    topics: readTopics(wish.topics) ?? known?.topics ?? TOPIC_NAMES,
    gapMinutes,
    quiet: readQuiet(wish, known),
    zone,
    hasDigest: wish.digest ?? known?.hasDigest ?? false,
    isPaused: wish.paused ?? known?.isPaused ?? false,
  };
}

function readTopics(topics: readonly string[] | undefined): readonly Topic[] | undefined {
  const unknown = topics?.find((topic) => !(TOPIC_NAMES as readonly string[]).includes(topic));
  if (unknown === undefined) return topics as readonly Topic[] | undefined;
  return fail(
    'topics',
    `cannot hold "${unknown}".${suggest(unknown, TOPIC_NAMES)} Allowed: ${TOPIC_NAMES.join(', ')}`,
  );
}

function readQuiet({ quiet, quietWeekends }: ChannelWish, known: Channel | null): Channel['quiet'] {
  const withWeekends = quietWeekends ?? known?.quiet?.withWeekends ?? false;
  if (quiet === undefined) return known?.quiet == null ? null : { ...known.quiet, withWeekends };
  if (quiet === 'off') return null;
  const [, from, to] = /^(\d\d:\d\d) ?- ?(\d\d:\d\d)$/.exec(quiet) ?? [];
  return { from: readMinute(from), to: readMinute(to), withWeekends };
}

function readMinute(text = ''): number {
  const [hours = Number.NaN, minutes = Number.NaN] = text.split(':').map(Number);
  if (hours < 24 && minutes < 60) return hours * 60 + minutes;
  return fail('quiet', 'must be "off", or two times of the day such as 20:00-07:00');
}

function readTarget(wish: ChannelWish, known: ChannelTarget | null): ChannelTarget {
  const kind = wish.kind ?? known?.kind;
  if (kind === undefined) {
    const message = 'Say which "kind" of channel it is: mail, slack, teams or webhook.';
    throw new RequestError('missing_parameters', message, { field: 'kind' });
  }
  const same = known?.kind === kind ? known : null;
  if (kind === 'mail') return readMail(wish, same as MailTarget | null);
  const url = readUrl(wish.url ?? (same as { readonly url: string } | null)?.url);
  if (kind !== 'webhook') return { kind, url };
  const before = same?.kind === 'webhook' ? same : null;
  const template = wish.template ?? before?.template ?? DEFAULT_TEMPLATE;
  if (template.length > MAX_TEMPLATE) fail('template', `must not be longer than ${MAX_TEMPLATE} characters`);
  const problem = explainTemplate(template);
  if (problem !== null) throw new RequestError('validation_error', problem, { field: 'template' });
  return { kind, url, template, authorization: orNull(wish.authorization ?? before?.authorization) };
}

const DEFAULT_TEMPLATE = '{"title":"{{title}}","text":"{{text}}","severity":"{{severity}}"}';

function readUrl(url: string | undefined): string {
  if (url === undefined) {
    throw new RequestError('missing_parameters', 'Send the address to post to as "url".', { field: 'url' });
  }
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.username !== '') {
    return fail('url', 'must be a URL that begins with https:// or http://, without a user or password');
  }
  return url;
}

/** What most mail servers take; the server that gets it decides. */
const MAIL_ADDRESS = /^[^\s@<>,;:"()[\]\\\p{Cc}]{1,64}@[^\s@<>,;:"()[\]\\\p{Cc}]{1,253}$/u;

function readMail(wish: ChannelWish, known: MailTarget | null): MailTarget {
  const to = wish.to ?? known?.to;
  const from = wish.from ?? known?.from;
  const server = wish.server ?? (known === null ? undefined : `${known.host}:${known.port}`);
  if (to === undefined || to.length === 0 || from === undefined || server === undefined) {
    const message = 'A mail channel needs "to", "from" and "server", such as smtp.example.com:587.';
    throw new RequestError('missing_parameters', message);
  }
  if (to.length > MAX_RECIPIENTS) fail('to', `must not have more than ${MAX_RECIPIENTS} addresses`);
  if (!to.every((address) => MAIL_ADDRESS.test(address)))
    fail('to', 'must be addresses such as ops@example.com');
  if (!MAIL_ADDRESS.test(from)) fail('from', 'must be an address such as berth@example.com');
  const security = wish.security ?? known?.security ?? 'starttls';
  const place = readServer(server, security);
  const user = orNull(wish.user ?? known?.user);
  const password = orNull(wish.password ?? known?.password);
  if (user !== null && security === 'none' && !isLoopback(place.host)) {
    fail('security', 'must be starttls or tls: without it, the password could be read on the network');
  }
  return { kind: 'mail', to, from, ...place, security, user, password: user === null ? null : password };
}

const PORTS = { starttls: 587, tls: 465, none: 25 } as const;

function readServer(server: string, security: MailSecurity): Pick<MailTarget, 'host' | 'port'> {
  const parsed = URL.parse(`smtp://${server}`);
  if (parsed === null || parsed.hostname === '' || parsed.host !== server) {
    return fail('server', 'must be a host and a port, such as smtp.example.com:587');
  }
  const port = parsed.port === '' ? PORTS[security] : Number(parsed.port);
  return { host: parsed.hostname.replace(/^\[|\]$/g, ''), port };
}

function orNull(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}

function fail(field: string, why: string): never {
  throw new RequestError('validation_error', `"${field}" ${why}.`, { field });
}
