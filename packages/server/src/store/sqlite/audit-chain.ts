import { createHmac } from 'node:crypto';
import { type AuditEvent, recordedEvent } from '../../core/audit-event.ts';
import type { Instant } from '../../core/instant.ts';

/** The number under which the system's own chain stands beside those of the licenses. */
export const SYSTEM_CHAIN = 0;

/** The newest link of a chain. */
export interface ChainHead {
  readonly n: number;
  readonly mac: Uint8Array;
}

export const EMPTY_HEAD: ChainHead = { n: 0, mac: new Uint8Array(0) };

export interface LinkContent {
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
