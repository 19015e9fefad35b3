import { createHash, createHmac, type KeyObject, sign, timingSafeEqual } from 'node:crypto';
import { type AuditEvent, type HeadsSigned, recordedEvent } from '../../../core/nouns/audit-event.ts';
import type { AuditSegment } from '../../../core/nouns/audit-segment.ts';
import type { Instant } from '../../../core/nouns/instant.ts';

/** The number under which the system's own chain stands beside those of the licenses. */
export const SYSTEM_CHAIN = 0;

/** The newest link of a chain. */
export interface ChainHead {
  readonly n: number;
  readonly mac: Uint8Array;
}

export const EMPTY_HEAD: ChainHead = { n: 0, mac: new Uint8Array(0) };

interface LinkContent {
  readonly chain: number;
  readonly n: number;
  readonly at: Instant;
  /** The JSON text as stored: what is signed is what was written, byte for byte. */
  readonly events: string;
}

/**
 * An event as it will be written. Made with its command: one that has no text fails that command, not the
 * commit.
 */
export function eventText(event: AuditEvent): string {
  return JSON.stringify(recordedEvent(event));
}

/** The events of one link, from their texts. */
export function joinEvents(texts: readonly string[]): string {
  return `[${texts.join(',')}]`;
}

/** Each link vouches for the one before it, so that nothing can be changed, cut out or put in between. */
export function linkMac(key: Uint8Array, previousMac: Uint8Array, link: LinkContent): Uint8Array {
  return createHmac('sha256', key)
    .update(`${link.chain}\n${link.n}\n${link.at}\n`)
    .update(previousMac)
    .update('\n')
    .update(link.events)
    .digest();
}

const MAC_BYTES = 32;

/**
 * What vouches for all chains at once: how many links were ever written, and the sum of all heads. A tail
 * that is cut off changes the sum, however well the rest of the file is made to match, and nobody without the
 * key can say what the sum would be then.
 */
interface Anchor {
  readonly links: number;
  /** The digests of all heads, one on top of the other: one is taken out as easily as it is put in. */
  readonly heads: Uint8Array;
}

export function headDigest(key: Uint8Array, chain: number, head: ChainHead): Uint8Array {
  return createHmac('sha256', key).update(`head\n${chain}\n${head.n}\n`).update(head.mac).digest();
}

/** Puts a digest into the sum of all heads, or takes it out again. */
export function toggleHead(heads: Uint8Array, digest: Uint8Array): void {
  for (let index = 0; index < MAC_BYTES; index++) {
    heads[index] = (heads[index] as number) ^ (digest[index] as number);
  }
}

export function sumHeads(key: Uint8Array, chains: Iterable<readonly [number, ChainHead]>): Anchor {
  const heads = new Uint8Array(MAC_BYTES);
  let links = 0;
  for (const [chain, head] of chains) {
    links += head.n;
    toggleHead(heads, headDigest(key, chain, head));
  }
  return { links, heads };
}

export function anchorMac(key: Uint8Array, { links, heads }: Anchor): Uint8Array {
  return createHmac('sha256', key).update(`anchor\n${links}\n`).update(heads).digest();
}

export function segmentMac(key: Uint8Array, segment: AuditSegment): Uint8Array {
  const { chain, firstN, lastN, firstAt, lastAt, links, events, totals } = segment;
  return createHmac('sha256', key)
    .update(`segment\n${[chain, firstN, lastN, firstAt, lastAt, links, events].join('\n')}\n`)
    .update(segment.firstMac)
    .update('\n')
    .update(segment.lastMac)
    .update('\n')
    .update(totals)
    .digest();
}

/** What was read from the file may be anything. */
export function isSameMac(a: unknown, b: unknown): boolean {
  if (!(a instanceof Uint8Array && b instanceof Uint8Array)) return false;
  return a.length === b.length && timingSafeEqual(a, b);
}

/** What the server signs when it signs all heads: the same text whoever writes it down. */
export function headsText({ links, heads }: Pick<HeadsSigned, 'links' | 'heads'>): string {
  return `berth audit heads 1\n${links}\n${heads.map((head) => `${head.join(' ')}\n`).join('')}`;
}

/** What the log is sealed with, link by link, and signed with, all heads at once. */
export interface AuditKeys {
  readonly audit: Uint8Array;
  readonly identity: KeyObject;
}

export function signHeadsText(
  { identity }: AuditKeys,
  told: Pick<HeadsSigned, 'links' | 'heads'>,
): HeadsSigned {
  const text = Buffer.from(headsText(told));
  return {
    kind: 'heads_signed',
    ...told,
    digest: createHash('sha256').update(text).digest('hex'),
    signature: sign(null, text, identity).toString('base64'),
  };
}
