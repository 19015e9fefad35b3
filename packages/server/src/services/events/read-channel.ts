import { RequestError } from '@berth/protocol/request-error';
import { suggest } from '@berth/protocol/suggest';
import {
  type Channel,
  type ChannelTarget,
  type Digest,
  isLoopback,
  type MailSecurity,
  type MailTarget,
  type TemplateTarget,
} from '../../core/notify/channel.ts';
import { explainTemplate } from '../../core/notify/template.ts';
import { TOPIC_NAMES, type Topic } from '../../core/nouns/topics.ts';
import { isZone } from '../../core/rules/local-time.ts';

/** What a caller says about a channel. What is left out stays as it is. */
export interface ChannelWish {
  readonly kind?: ChannelTarget['kind'] | undefined;
  readonly to?: readonly string[] | undefined;
  readonly from?: string | undefined;
  readonly server?: string | undefined;
  readonly security?: MailSecurity | undefined;
  /** `none`: without signing in. */
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly url?: string | undefined;
  readonly template?: string | undefined;
  /** `none`: without the header. */
  readonly authorization?: string | undefined;
  readonly topics?: readonly string[] | undefined;
  readonly gapMinutes?: number | undefined;
  /** Such as 20:00-07:00; `off`: none. */
  readonly quiet?: string | undefined;
  readonly quietWeekends?: boolean | undefined;
  readonly timeZone?: string | undefined;
  readonly digest?: Digest | undefined;
  readonly paused?: boolean | undefined;
}

const DEFAULT_GAP_MINUTES = 10;
const MAX_GAP_MINUTES = 24 * 60;
const MAX_RECIPIENTS = 20;

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
    digest: wish.digest ?? known?.digest ?? 'off',
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
  const hours = quiet === undefined ? (known?.quiet ?? null) : readHours(quiet);
  if (hours !== null) return { ...hours, withWeekends };
  if (quietWeekends === true) fail('quiet_weekends', 'needs quiet hours as "quiet", such as 20:00-07:00');
  return null;
}

function readHours(quiet: string): { readonly from: number; readonly to: number } | null {
  if (quiet === 'off') return null;
  const [, first, second] = /^(\d\d:\d\d) ?- ?(\d\d:\d\d)$/.exec(quiet) ?? [];
  const [from, to] = [readMinute(first), readMinute(second)];
  return from === to ? fail('quiet', 'must end at another time than it begins') : { from, to };
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
  if (before !== null && new URL(before.url).origin !== new URL(url).origin) refuseSecretsOf(before, wish);
  const template = wish.template ?? before?.template ?? DEFAULT_TEMPLATE;
  const problem = explainTemplate(template);
  if (problem !== null) throw new RequestError('validation_error', problem, { field: 'template' });
  return { kind, url, template, authorization: orNull(wish.authorization ?? before?.authorization) };
}

/** Whoever may change an address must not learn what was stored for another. */
function refuseSecretsOf({ template, authorization }: TemplateTarget, wish: ChannelWish): void {
  const why = 'must be sent again with an address on another host: the one that is stored is not sent there';
  if (wish.template === undefined && template !== DEFAULT_TEMPLATE) fail('template', why);
  if (wish.authorization === undefined && authorization !== null) fail('authorization', `${why}, or "none"`);
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
  const security = wish.security ?? known?.security ?? 'starttls';
  const place = wish.server === undefined ? placeOf(known, security) : readServer(wish.server, security);
  if (to === undefined || to.length === 0 || from === undefined || place === null) {
    const message = 'A mail channel needs "to", "from" and "server", such as smtp.example.com:587.';
    throw new RequestError('missing_parameters', message);
  }
  if (to.length > MAX_RECIPIENTS) fail('to', `must not have more than ${MAX_RECIPIENTS} addresses`);
  if (!to.every((address) => MAIL_ADDRESS.test(address)))
    fail('to', 'must be addresses such as ops@example.com');
  if (!MAIL_ADDRESS.test(from)) fail('from', 'must be an address such as berth@example.com');
  const user = orNull(wish.user ?? known?.user);
  const password = wish.password ?? known?.password ?? null;
  // Whoever may change the server must not learn the password for another.
  const isElsewhere = wish.server !== undefined && (place.host !== known?.host || place.port !== known.port);
  if (isElsewhere && user !== null && password !== null && wish.password === undefined) {
    fail('password', 'must be sent again: the one that is stored is not sent to another mail server');
  }
  if (user !== null && security === 'none' && !isLoopback(place.host)) {
    fail('security', 'must be starttls or tls: without it, the password could be read on the network');
  }
  return { kind: 'mail', to, from, ...place, security, user, password: user === null ? null : password };
}

/** With the port of its security, unless it has one of its own. */
function placeOf(known: MailTarget | null, security: MailSecurity): Pick<MailTarget, 'host' | 'port'> | null {
  if (known === null) return null;
  const { host, port } = known;
  return { host, port: port === PORTS[known.security] ? PORTS[security] : port };
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
  return text === undefined || text === 'none' ? null : text;
}

function fail(field: string, why: string): never {
  throw new RequestError('validation_error', `"${field}" ${why}.`, { field });
}
