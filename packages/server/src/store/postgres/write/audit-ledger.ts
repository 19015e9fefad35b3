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
import type { Sql } from './bulk-writes.ts';

/** What was signed before, and how many links there are now; `null` where nobody can sign. */
export interface SigningState {
  readonly links: number;
  readonly signedLinks: number | null;
}

/** A link that is to be written, and what the row of its chain says then. */
export interface NewLink {
  readonly head: ChainHead;
  /** `null`: the one that is there stays. */
  readonly anchor: Uint8Array | null;
  readonly writes: readonly Sql[];
}

const ADD_LINK = 'INSERT INTO audit_link (chain, n, at, events, mac) VALUES ($1, $2, $3, $4, $5)';

/**
 * Vouches for the log. One anchor over all chains would make every license wait for every other, so here each
 * chain has an anchor of its own, and the set of chains has one that changes only when a license is added.
 */
export class AuditLedger implements HeadSigner {
  readonly #keys: AuditKeys;
  readonly #state: SigningState | null;
  /** An anchor did not fit. It is left as it is: a new one would cover up what was done to the log. */
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
  ): NewLink {
    if (events.length === 0) return { head, anchor: null, writes: [] };
    const link = { chain, n: head.n + 1, at, events: joinEvents(events) };
    const newest = { n: link.n, mac: linkMac(this.key, head.mac, link) };
    // The commit that adds a license is the first link of its chain; the system's chain is as old as the
    // store.
    const isNew = head.n === 0 && chain !== SYSTEM_CHAIN;
    const isSound = isNew || isSameMac(anchor, headDigest(this.key, chain, head));
    if (!isSound) this.isSound = false;
    return {
      head: newest,
      anchor: isSound ? headDigest(this.key, chain, newest) : null,
      writes: [{ text: ADD_LINK, values: [chain, link.n, at, link.events, newest.mac] }],
    };
  }

  /** The anchor of the set of chains with one more in it; `null`: the one that is there does not fit. */
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

/** Vouches for which chains there are. */
export function chainsMac(key: Uint8Array, chains: readonly number[]): Uint8Array {
  const { heads } = sumHeads(
    key,
    chains.map((chain) => [chain, EMPTY_HEAD] as const),
  );
  return anchorMac(key, { links: chains.length, heads });
}
