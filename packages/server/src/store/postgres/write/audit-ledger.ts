import type { HeadsSigned } from '../../../core/nouns/audit-event.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import {
  type AuditKeys,
  anchorMac,
  type ChainHead,
  EMPTY_HEAD,
  headDigest,
  isSameMac,
  joinEvents,
  linkMac,
  SYSTEM_CHAIN,
  signHeadsText,
  sumHeads,
} from '../../engine/audit/audit-chain.ts';
import type { HeadSigner } from '../../engine/batch.ts';

/** How many links there are, and how many there were when the heads were last signed. */
interface SigningState {
  readonly links: number;
  readonly signedLinks: number | null;
}

export interface NewLink {
  readonly chain: number;
  readonly n: number;
  readonly at: Instant;
  readonly events: string;
  readonly mac: Uint8Array;
}

/** A chain with what a commit adds to it, as its row says afterwards. */
interface Lengthened {
  readonly head: ChainHead;
  /** `null`: the old one stays. */
  readonly anchor: Uint8Array | null;
  readonly link: NewLink | null;
}

/**
 * Makes the log tamper-evident. One anchor over all chains would make every license wait for every other, so
 * each chain has its own, and the set of chains has one that changes only when a license is added.
 */
export class AuditLedger implements HeadSigner {
  readonly #keys: AuditKeys;
  readonly #state: SigningState | null;
  /** False if an anchor did not match. It is left alone: a new one would hide what was done to the log. */
  isSound = true;

  constructor(keys: AuditKeys, state: SigningState | null) {
    this.#keys = keys;
    this.#state = state;
  }

  get key(): Uint8Array {
    return this.#keys.audit;
  }

  get isSigned(): boolean {
    return this.#state !== null && this.#state.signedLinks === this.#state.links;
  }

  sign(heads: HeadsSigned['heads']): HeadsSigned {
    return signHeadsText(this.#keys, { links: this.#state?.links ?? 0, heads });
  }

  /** All events of one chain in this commit form one link; no events, no link. */
  addLink(
    chain: number,
    { head, anchor }: { readonly head: ChainHead; readonly anchor: Uint8Array | null },
    events: readonly string[],
    at: Instant,
  ): Lengthened {
    if (events.length === 0) return { head, anchor: null, link: null };
    const link = { chain, n: head.n + 1, at, events: joinEvents(events) };
    const newest = { n: link.n, mac: linkMac(this.key, head.mac, link) };
    // Adding a license writes the first link of its chain. The system's chain is as old as the store.
    const isNew = head.n === 0 && chain !== SYSTEM_CHAIN;
    const isSound = isNew || isSameMac(anchor, headDigest(this.key, chain, head));
    if (!isSound) this.isSound = false;
    return {
      head: newest,
      anchor: isSound ? headDigest(this.key, chain, newest) : null,
      link: { ...link, mac: newest.mac },
    };
  }

  /** The anchor of the set of chains with `added` in it; `null` if the old one does not match. */
  addChains(
    anchor: Uint8Array | null,
    chains: readonly LicenseId[],
    added: readonly LicenseId[],
  ): Uint8Array | null {
    if (!isSameMac(anchor, chainsMac(this.key, chains))) {
      this.isSound = false;
      return null;
    }
    return chainsMac(this.key, [...chains, ...added]);
  }
}

/** The anchor over which chains there are. */
export function chainsMac(key: Uint8Array, chains: readonly number[]): Uint8Array {
  const { heads } = sumHeads(
    key,
    chains.map((chain) => [chain, EMPTY_HEAD] as const),
  );
  return anchorMac(key, { links: chains.length, heads });
}
