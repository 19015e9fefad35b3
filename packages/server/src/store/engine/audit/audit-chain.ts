import { createHash, type KeyObject, sign, timingSafeEqual } from 'node:crypto';
import type { AuditEvent, HeadsSigned, RecordedEvent } from '../../../core/nouns/audit-event.ts';
import type { AuditSegment } from '../../../core/nouns/audit-segment.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import { keyedHash } from './keyed-hash.ts';

/** The number of the system's own chain. Those of licenses have their ids. */
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
 * An event as it will be written. Built with its command, so that an event that cannot be written fails that
 * command, not the commit.
 */
export function eventText(event: AuditEvent): string {
  const by = 'by' in event ? event.by : undefined;
  if (typeof by !== 'object' || by === null) return JSON.stringify(event);
  return JSON.stringify({ ...event, by: by.name, origin: by.address } as RecordedEvent);
}

/** The events of one link, from their texts. */
export function joinEvents(texts: readonly string[]): string {
  return `[${texts.join(',')}]`;
}

/** Each MAC covers the one before it, so that no link can be changed, removed or inserted. */
export function linkMac(key: Uint8Array, previousMac: Uint8Array, link: LinkContent): Uint8Array {
  return keyedHash(key, [`${link.chain}\n${link.n}\n${link.at}\n`, previousMac, '\n', link.events]);
}

const MAC_BYTES = 32;

/**
 * Covers all chains at once: how many links were ever written, and the sum of all heads. Cutting off a tail
 * changes the sum, and nobody can compute the new one without the key.
 */
interface Anchor {
  readonly links: number;
  /** The exclusive or of the digests of all heads, so that one can be removed as easily as added. */
  readonly heads: Uint8Array;
}

export function headDigest(key: Uint8Array, chain: number, head: ChainHead): Uint8Array {
  return keyedHash(key, [`head\n${chain}\n${head.n}\n`, head.mac]);
}

/** Adds a digest to the sum of all heads, or removes it. */
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
  return keyedHash(key, [`anchor\n${links}\n`, heads]);
}

export function segmentMac(key: Uint8Array, segment: AuditSegment): Uint8Array {
  const { chain, firstN, lastN, firstAt, lastAt, links, events, totals } = segment;
  const numbers = [chain, firstN, lastN, firstAt, lastAt, links, events].join('\n');
  const parts = [`segment\n${numbers}\n`, segment.firstMac, '\n', segment.lastMac, '\n', totals];
  return keyedHash(key, parts);
}

/** Values read from the file can be anything. */
export function isSameMac(a: unknown, b: unknown): boolean {
  if (!(a instanceof Uint8Array && b instanceof Uint8Array)) return false;
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The text that the server signs for all heads. It must be the same whoever builds it. */
export function headsText({ links, heads }: Pick<HeadsSigned, 'links' | 'heads'>): string {
  return `berth audit heads 1\n${links}\n${heads.map((head) => `${head.join(' ')}\n`).join('')}`;
}

/** The keys of the log: one for the MACs of links, one to sign all heads. */
export interface AuditKeys {
  readonly audit: Uint8Array;
  readonly identity: KeyObject;
}

export function signHeadsText(
  { identity }: AuditKeys,
  signed: Pick<HeadsSigned, 'links' | 'heads'>,
): HeadsSigned {
  const text = Buffer.from(headsText(signed));
  return {
    kind: 'heads_signed',
    ...signed,
    digest: createHash('sha256').update(text).digest('hex'),
    signature: sign(null, text, identity).toString('base64'),
  };
}
