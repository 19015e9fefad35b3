import { ERRORS, type ErrorCode } from '@berth/protocol/errors';
import { escapeUnprintable } from '@berth/protocol/hidden-characters';
import type { AuditEvent, RecordedEvent } from '../nouns/audit-event.ts';
import { HOUR_MS, type Instant, MINUTE_MS } from '../nouns/instant.ts';
import { CRITICAL_TOPICS, TOPIC_NAMES, TOPICS, type Topic } from '../nouns/topics.ts';
import { sayLocal, sayLocalDay } from '../rules/local-time.ts';
import type { Gathering, Subject } from './gather.ts';
import type { Message } from './message.ts';
import type { ToldTopics } from './when.ts';

interface Context {
  readonly zone: string;
  readonly now: Instant;
  /** What people call a license. */
  readonly nameOf: (licenseId: number) => string;
  readonly told: ToldTopics;
}

/** More are only counted. */
const MAX_LINES = 20;
const MAX_TITLE = 150;

/** Everything that waits, what is critical first. */
export function writeMessage(gathering: Gathering, id: string, context: Context): Message {
  const topics = inOrder(gathering.topics);
  const lines = topics.flatMap((topic) => writeTopic(gathering, topic, context));
  const isBad = topics.flatMap((topic) =>
    gathering.subjectsOf(topic).map(({ last }) => [topic, !GOOD_NEWS.has(last.kind)] as const),
  );
  const bad = isBad.filter(([, isBad]) => isBad).map(([topic]) => topic);
  return {
    id,
    severity: severityOf(bad),
    title: titleOf(lines),
    lines: [...lines.slice(0, MAX_LINES).map(({ text }) => text), ...sayRest(lines.slice(MAX_LINES))],
  };
}

interface Line {
  readonly text: string;
  readonly topic: Topic;
  /** How many events or refusals it stands for. */
  readonly count: number;
}

/** No count is lost with a line. */
function sayRest(lines: readonly Line[]): readonly string[] {
  if (lines.length === 0) return [];
  const sum = (isCounted: (line: Line) => boolean) =>
    lines.filter(isCounted).reduce((total, { count }) => total + count, 0);
  const refusals = sum(({ topic }) => topic === 'slot_denied');
  const events = sum(({ topic }) => topic !== 'slot_denied');
  const parts = [...sayMore(refusals, 'refusal'), ...sayMore(events, 'event')];
  return [`And ${parts.join(' and ')}, elsewhere.`];
}

function sayMore(count: number, what: string): readonly string[] {
  return count === 0 ? [] : [`${sayCount(count)} more ${what}${count === 1 ? '' : 's'}`];
}

function inOrder(topics: readonly Topic[]): readonly Topic[] {
  const rank = (topic: Topic) =>
    (CRITICAL_TOPICS.includes(topic) ? 0 : TOPIC_NAMES.length) + TOPIC_NAMES.indexOf(topic);
  return topics.toSorted((a, b) => rank(a) - rank(b));
}

const GOOD_NEWS: ReadonlySet<string> = new Set<AuditEvent['kind']>([
  'cloud_reachable',
  'disk_space_recovered',
  'certificate_right',
  'license_has_room',
  'consumption_has_room',
  'groups_up_to_date',
]);

function severityOf(bad: readonly Topic[]): Message['severity'] {
  if (bad.length === 0) return 'info';
  return bad.some((topic) => CRITICAL_TOPICS.includes(topic)) ? 'critical' : 'warning';
}

function titleOf(lines: readonly Line[]): string {
  const [first, ...others] = lines;
  const title = (first?.text ?? '').replace(/\.$/, '');
  const cut = title.length > MAX_TITLE ? `${title.slice(0, MAX_TITLE).toWellFormed()}…` : title;
  return others.length === 0 ? cut : `${cut} (and ${others.length} more)`;
}

function writeTopic(gathering: Gathering, topic: Topic, context: Context): readonly Line[] {
  const others = gathering.countOthers(topic);
  const subjects = gathering.subjectsOf(topic).toSorted((a, b) => b.count - a.count);
  const lines = subjects.map((subject) => {
    const line =
      topic === 'slot_denied'
        ? sayRefusals(subject, context)
        : sayEvent(subject, context) + sayChanges(topic, subject);
    // Names come from clients and vendors: none of them may begin a line, or a header.
    return { text: escapeUnprintable(`${line}.`), topic, count: subject.count };
  });
  const rest = { text: `${sayCount(others)} more of the same kind, elsewhere.`, topic, count: others };
  return others === 0 ? lines : [...lines, rest];
}

/** For how long a further message says "more". */
const RECENT_MS = HOUR_MS;

function sayRefusals(subject: Subject, context: Context): string {
  const { count, users, hasMoreUsers, firstAt, code } = subject;
  const what = sayPart(subject, context);
  const why = code === null ? '' : `: ${sayCode(code as ErrorCode)}`;
  const [user] = users;
  if (count === 1) return `${user ?? 'Someone'} was refused a slot of ${what}${why}`;
  const toldAt = context.told.slot_denied;
  const more = toldAt !== undefined && context.now - toldAt <= RECENT_MS ? 'more ' : '';
  const length = saySpan(context.now - firstAt);
  const whom = hasMoreUsers ? `, more than ${sayCount(users.size)} users` : countUsers(users.size);
  return `${sayCount(count)} ${more}refusals of ${what} in the last ${length}${whom}${why}`;
}

/** Rounded up, so that it is not shorter than it was. */
function saySpan(millis: number): string {
  const minutes = Math.ceil(millis / MINUTE_MS);
  if (minutes <= 1) return 'minute';
  if (minutes < 120) return `${minutes} minutes`;
  const hours = Math.ceil(minutes / 60);
  return hours < 48 ? `${hours} hours` : `${sayCount(Math.ceil(hours / 24))} days`;
}

function countUsers(count: number): string {
  if (count === 0) return '';
  return count === 1 ? ', 1 user' : `, ${sayCount(count)} users`;
}

/** 1,204 instead of 1204. */
export function sayCount(count: number): string {
  return new Intl.NumberFormat('en-US').format(count);
}

function sayCode(code: ErrorCode): string {
  const title = Object.hasOwn(ERRORS, code) ? ERRORS[code].title : code;
  return `${title.charAt(0).toLowerCase()}${title.slice(1)}`;
}

/** A condition came and went; anything else happened again. */
function sayChanges(topic: Topic, { count }: Subject): string {
  if (count === 1) return '';
  const canEnd = TOPICS[topic].some((kind) => GOOD_NEWS.has(kind));
  return canEnd ? ` (changed ${sayCount(count)} times)` : ` (${sayCount(count)} times)`;
}

function sayPart({ licenseId, last }: Subject, { nameOf }: Context): string {
  const name = licenseId === null ? 'a license' : nameOf(licenseId);
  return 'feature' in last && last.feature != null ? `${last.feature} of ${name}` : name;
}

type TopicKind = Exclude<(typeof TOPICS)[Topic][number], 'slot_denied' | 'denials_repeated'>;

type Sentences = {
  readonly [K in TopicKind]: (
    event: Extract<AuditEvent, { kind: K }>,
    what: string,
    say: (at: Instant) => string,
    sayDay: (at: Instant) => string,
  ) => string;
};

/** What is true now, in a sentence without its end. */
const SENTENCES: Sentences = {
  license_expiring: ({ validUntil }, what, _, sayDay) => `The license ${what} ends on ${sayDay(validUntil)}`,
  token_expiring: ({ name, tokenId, expiresAt }, _, __, sayDay) =>
    `The token ${name ?? tokenId} ends on ${sayDay(expiresAt)}`,
  cloud_unreachable: ({ failingAt, reason, code }, _, say) =>
    `The licensing cloud has not been reached since ${say(failingAt)} (${reason ?? code})`,
  cloud_reachable: ({ failingAt, reason }, _, say) => {
    const now = reason === undefined ? 'reached again' : 'no longer used';
    return `The licensing cloud is ${now}; it was away since ${say(failingAt)}`;
  },
  clock_jumped: ({ direction, serverAt, wallAt }, _, say) =>
    `The clock of the machine is ${direction}: it says ${say(wallAt)}, and the server ${say(serverAt)}`,
  disk_space_low: ({ hostname, folder, freeMegabytes }) =>
    `The disk of ${folder} on ${hostname} is filling up: ${sayCount(freeMegabytes)} MB are free`,
  disk_space_recovered: ({ hostname, folder, freeMegabytes }) =>
    `The disk of ${folder} on ${hostname} has room again: ${sayCount(freeMegabytes)} MB are free`,
  certificate_expiring: ({ hostname, validUntil }, _, __, sayDay) =>
    `The TLS certificate of ${hostname} ends on ${sayDay(validUntil)}`,
  certificate_wrong: (_, what) => `The vendor has certified another key for ${what}`,
  certificate_missing: (_, what) => `The vendor no longer certifies a key for ${what}`,
  certificate_right: (_, what) => `The vendor certifies the key for ${what} again`,
  license_nearly_full: ({ inUse, slots }, what) =>
    `${sayCount(inUse)} of ${sayCount(slots)} slots of ${what} are in use`,
  license_has_room: ({ inUse, slots }, what) =>
    `${what} has room again: ${sayCount(inUse)} of ${sayCount(slots)} slots are in use`,
  consumption_nearly_used_up: ({ total, max }, what) =>
    `${sayCount(total)} of ${sayCount(max)} of ${what} are used up`,
  consumption_has_room: ({ total, max }, what) =>
    `${what} can be consumed again: ${sayCount(total)} of ${sayCount(max)} are used up`,
  backup_failed: ({ reason }) => `The backup failed: ${reason.replace(/\.$/, '')}`,
  backup_overdue: ({ dueAt }, _, say) => `The backup that was due ${say(dueAt)} was not made`,
  groups_outdated: ({ groups, answeredAt, reason }, _, say) =>
    `The directory has not told who is in ${sayGroups(groups)} since ${say(answeredAt)}: ` +
    reason.replace(/\.$/, ''),
  groups_up_to_date: () => 'The directory tells again who is in the groups of the rules',
};

function sayGroups([first, ...others]: readonly string[]): string {
  return others.length === 0 ? `${first}` : `${first} and ${sayCount(others.length)} more`;
}

function sayEvent(subject: Subject, context: Context): string {
  const { zone } = context;
  const event = subject.last as Extract<RecordedEvent, { kind: TopicKind }>;
  const write = SENTENCES[event.kind] as (...args: readonly unknown[]) => string;
  const say = (at: Instant) => sayLocal(zone, at);
  const sayDay = (at: Instant) => sayLocalDay(zone, at);
  return write(event, sayPart(subject, context), say, sayDay);
}
