import { createPrivateKey, createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { HeadsSigned } from '../../../core/nouns/audit-event.ts';
import type { AuditSegment } from '../../../core/nouns/audit-segment.ts';
import { type ChainHead, headsText } from './audit-chain.ts';

export interface VerifyingKeys {
  readonly audit: Uint8Array;
  /** The private key of the server, in DER form. */
  readonly identity: Uint8Array;
}

interface KnownChains extends Pick<VerifyingKeys, 'identity'> {
  readonly heads: ReadonlyMap<number, ChainHead>;
  readonly segments: ReadonlyMap<number, { readonly segment: AuditSegment }>;
}

export type NamedHead = HeadsSigned['heads'][number];

/** The MAC of a link, if the link is there. */
export type FindMac = (chain: number, n: number) => Uint8Array | undefined;

/** Checks what the server has signed of its own log: every head that it named must still be in its chain. */
export class SignatureCheck {
  readonly #publicKey: KeyObject;
  readonly #known: KnownChains;
  /** The last head found for each chain: most chains are named again unchanged. */
  readonly #found = new Map<number, string>();

  constructor(known: KnownChains) {
    this.#publicKey = toPublicKey(known.identity);
    this.#known = known;
  }

  /** What is wrong with the signatures in a link. */
  check(eventsText: string, findMac: FindMac): readonly string[] {
    try {
      return readSigned(eventsText).flatMap((event) => this.#checkEvent(event, findMac));
    } catch {
      return ['The signature of the heads cannot be read.'];
    }
  }

  /** The links that `check` will ask for, for callers that have to fetch them first. */
  listNeeded(eventsText: string): readonly NamedHead[] {
    try {
      const named = readSigned(eventsText).filter((event) => this.#isGenuine(event));
      return named.flatMap(({ heads }) => heads.filter((head) => !this.#isFound(head)));
    } catch {
      return [];
    }
  }

  #checkEvent(event: HeadsSigned, findMac: FindMac): readonly string[] {
    if (!this.#isGenuine(event)) return ['The signature of the heads is not from this server.'];
    return event.heads.filter((head) => !this.#isThere(head, findMac)).map(describeMissing);
  }

  #isGenuine(event: HeadsSigned): boolean {
    const signature = Buffer.from(event.signature, 'base64');
    return verify(null, Buffer.from(headsText(event)), this.#publicKey, signature);
  }

  #isFound([chain, n, mac]: NamedHead): boolean {
    return this.#found.get(chain) === `${n} ${mac}`;
  }

  #isThere(head: NamedHead, findMac: FindMac): boolean {
    if (this.#isFound(head)) return true;
    const [chain, n, mac] = head;
    if (!this.#known.heads.has(chain) || !this.#matches(head, findMac)) return false;
    this.#found.set(chain, `${n} ${mac}`);
    return true;
  }

  /** Of links that were thinned out only the last MAC is left. */
  #matches([chain, n, mac]: NamedHead, findMac: FindMac): boolean {
    const segment = this.#known.segments.get(chain)?.segment;
    if (segment !== undefined && n < segment.lastN) return true;
    if (segment !== undefined && n === segment.lastN) return isHex(segment.lastMac, mac);
    return isHex(findMac(chain, n), mac);
  }
}

function toPublicKey(identity: Uint8Array): KeyObject {
  return createPublicKey(createPrivateKey({ key: Buffer.from(identity), format: 'der', type: 'pkcs8' }));
}

function readSigned(eventsText: string): readonly HeadsSigned[] {
  if (!eventsText.includes('"heads_signed"')) return [];
  const events = JSON.parse(eventsText) as readonly (HeadsSigned | { kind: '' })[];
  return events.filter((event) => event.kind === 'heads_signed');
}

function isHex(bytes: Uint8Array | undefined, hex: string): boolean {
  return bytes !== undefined && Buffer.from(bytes).toString('hex') === hex;
}

function describeMissing([chain, n]: NamedHead): string {
  const whose = chain === 0 ? "the system's chain" : `the chain of the license ${chain}`;
  return `Link ${n} of ${whose}, which was signed, is missing.`;
}
