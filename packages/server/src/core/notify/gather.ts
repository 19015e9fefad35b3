import type { RecordedEvent } from '../nouns/audit-event.ts';
import type { Instant } from '../nouns/instant.ts';
import { TOPICS, type Topic } from '../nouns/topics.ts';

/** An event as the audit log has it. */
interface Happened {
  /** `null` for events of the server itself. */
  readonly licenseId: number | null;
  readonly at: Instant;
  readonly event: RecordedEvent;
}

/** The events of a topic that concern the same license, feature, host or token. */
export interface Subject {
  readonly licenseId: number | null;
  /** How many events, or how many refusals. */
  readonly count: number;
  readonly users: ReadonlySet<string>;
  /** There were more users than are remembered. */
  readonly hasMoreUsers: boolean;
  /** Why they were refused, if that was the same for all. */
  readonly code: string | null;
  readonly firstAt: Instant;
  /** What is true now. */
  readonly last: RecordedEvent;
}

/** One that grows; copying its users for every event would take too long in a storm. */
interface GrowingSubject extends Subject {
  count: number;
  readonly users: Set<string>;
  hasMoreUsers: boolean;
  code: string | null;
  last: RecordedEvent;
}

/** Enough for a message, however many events there were. */
export const MAX_SUBJECTS = 50;
export const MAX_USERS = 1000;

interface TopicSum {
  readonly subjects: Map<string, GrowingSubject>;
  /** In subjects beyond those that are remembered. */
  others: number;
}

/**
 * What waits to be told: the sum of any number of events, by topic and subject. It can be made anew from the
 * audit log, so only the position there has to be stored.
 */
export class Gathering {
  readonly #topicOf: ReadonlyMap<string, Topic>;
  readonly #sums = new Map<Topic, TopicSum>();

  constructor(topics: readonly Topic[]) {
    this.#topicOf = new Map(topics.flatMap((topic) => TOPICS[topic].map((kind) => [kind, topic] as const)));
  }

  add(happened: Happened): void {
    const topic = this.#topicOf.get(happened.event.kind);
    if (topic === undefined) return;
    const sum = this.#sums.get(topic) ?? { subjects: new Map(), others: 0 };
    this.#sums.set(topic, sum);
    const key = subjectOf(happened);
    const known = sum.subjects.get(key);
    if (known !== undefined) grow(known, happened.event);
    else if (sum.subjects.size >= MAX_SUBJECTS) sum.others += countOf(happened.event);
    else sum.subjects.set(key, begin(happened));
  }

  /** Those that something waits of. */
  get topics(): readonly Topic[] {
    return [...this.#sums.keys()];
  }

  subjectsOf(topic: Topic): readonly Subject[] {
    return [...(this.#sums.get(topic)?.subjects.values() ?? [])];
  }

  countOthers(topic: Topic): number {
    return this.#sums.get(topic)?.others ?? 0;
  }
}

function begin({ licenseId, at, event }: Happened): GrowingSubject {
  const subject = {
    licenseId: 'licenseId' in event ? event.licenseId : licenseId,
    count: 0,
    users: new Set<string>(),
    hasMoreUsers: false,
    code: codeOf(event),
    firstAt: at,
    last: event,
  };
  grow(subject, event);
  return subject;
}

function grow(subject: GrowingSubject, event: RecordedEvent): void {
  subject.count += countOf(event);
  subject.last = event;
  if (subject.code !== codeOf(event)) subject.code = null;
  const user = 'user' in event ? event.user : null;
  if (user === null || subject.users.has(user)) return;
  if (subject.users.size < MAX_USERS) subject.users.add(user);
  else subject.hasMoreUsers = true;
}

function codeOf(event: RecordedEvent): string | null {
  return event.kind === 'slot_denied' || event.kind === 'denials_repeated' ? event.code : null;
}

/** A recorded refusal stands for itself and those that were only counted before it. */
function countOf(event: RecordedEvent): number {
  if (event.kind === 'slot_denied') return 1 + event.repeated;
  return event.kind === 'denials_repeated' ? event.repeated : 1;
}

function subjectOf({ licenseId, event }: Happened): string {
  // One says why, the other for how long.
  if (event.kind === 'backup_failed' || event.kind === 'backup_overdue') return event.kind;
  const feature = 'feature' in event ? event.feature : null;
  if ('licenseId' in event) return `${event.licenseId} ${feature ?? ''}`;
  if (licenseId !== null) return `${licenseId} ${feature ?? ''}`;
  if (event.kind === 'token_expiring') return event.tokenId;
  return 'hostname' in event ? `${event.hostname} ${'folder' in event ? event.folder : ''}` : '';
}
