import { type KeyObject, verify } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { HeadsSigned } from '../../core/audit-event.ts';
import { type ChainHead, headsText, type Segment } from '../engine/audit-chain.ts';

interface KnownChains {
  readonly publicKey: KeyObject;
  readonly heads: ReadonlyMap<number, ChainHead>;
  readonly segments: ReadonlyMap<number, { readonly segment: Segment }>;
}

type NamedHead = HeadsSigned['heads'][number];

/** Checks what the server has signed of its own log: every head that it named must still be in its chain. */
export class SignatureCheck {
  readonly #known: KnownChains;
  readonly #findMac: StatementSync;
  /** What was named last of each chain and found: most chains are named again and again as they were. */
  readonly #found = new Map<number, string>();

  constructor(db: DatabaseSync, known: KnownChains) {
    this.#known = known;
    this.#findMac = db.prepare('SELECT mac FROM audit_link WHERE chain = ? AND n = ?');
  }

  /** What is wrong with the signatures in a link. */
  check(eventsText: string): readonly string[] {
    if (!eventsText.includes('"heads_signed"')) return [];
    try {
      const events = JSON.parse(eventsText) as readonly (HeadsSigned | { kind: '' })[];
      return events.flatMap((event) => (event.kind === 'heads_signed' ? this.#checkEvent(event) : []));
    } catch {
      return ['The signature of the heads cannot be read.'];
    }
  }

  #checkEvent(event: HeadsSigned): readonly string[] {
    const signature = Buffer.from(event.signature, 'base64');
    if (!verify(null, Buffer.from(headsText(event)), this.#known.publicKey, signature)) {
      return ['The signature of the heads is not one of this server.'];
    }
    return event.heads.filter((head) => !this.#isThere(head)).map(describeMissing);
  }

  #isThere([chain, n, mac]: NamedHead): boolean {
    const name = `${n} ${mac}`;
    if (this.#found.get(chain) === name) return true;
    if (!this.#known.heads.has(chain) || !this.#matches(chain, n, mac)) return false;
    this.#found.set(chain, name);
    return true;
  }

  /** Of links that were thinned out only the last MAC is left. */
  #matches(chain: number, n: number, mac: string): boolean {
    const segment = this.#known.segments.get(chain)?.segment;
    if (segment !== undefined && n < segment.lastN) return true;
    if (segment !== undefined && n === segment.lastN) return isHex(segment.lastMac, mac);
    return isHex(this.#findMac.get(chain, n)?.mac as Uint8Array | undefined, mac);
  }
}

function isHex(bytes: Uint8Array | undefined, hex: string): boolean {
  return bytes !== undefined && Buffer.from(bytes).toString('hex') === hex;
}

function describeMissing([chain, n]: NamedHead): string {
  const whose = chain === 0 ? "the system's chain" : `the chain of the license ${chain}`;
  return `Link ${n} of ${whose}, which was signed here, is not there any more.`;
}
