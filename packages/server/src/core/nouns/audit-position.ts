/** A place in the audit log: an event, by its link and its place among the events of that link. */
export interface AuditPosition {
  readonly seq: number;
  readonly index: number;
}

/** After every event of a link. */
const LAST = Number.MAX_SAFE_INTEGER;

export function endOfLink(seq: number): AuditPosition {
  return { seq, index: LAST };
}

/** The id of an event, by which readers recognise it and resume after it. */
export function eventId({ seq, index }: AuditPosition): string {
  return `${seq}.${index}`;
}

/** Reads an event's id, or the number of a link, which means all of it. `null`: neither. */
export function readPosition(text: string): AuditPosition | null {
  const [, seq, index] = /^(\d{1,15})(?:\.(\d{1,15}))?$/.exec(text) ?? [];
  if (seq === undefined) return null;
  return index === undefined ? endOfLink(Number(seq)) : { seq: Number(seq), index: Number(index) };
}

export function isAfter(a: AuditPosition, b: AuditPosition): boolean {
  return a.seq > b.seq || (a.seq === b.seq && a.index > b.index);
}

/** The link after which to resume, so that no event after the position is missed. */
export function linkBefore({ seq, index }: AuditPosition): number {
  return index === LAST ? seq : seq - 1;
}

/** Those that are told what the log records, each at its own pace. */
export type Follower = 'webhook' | 'syslog' | 'file' | ChannelFollower;

type ChannelFollower = `channel ${string}`;

export function followerOf({ name }: { readonly name: string }): ChannelFollower {
  return `channel ${name}`;
}
