import { ProofError } from '../errors.ts';
import type { Account } from '../lending/account.ts';
import { type Lease, readLease } from '../lending/lease.ts';
import type { Answer } from '../servers.ts';
import type { Grant, Proof } from './verifier.ts';

/** A new grant is asked for when this part of the last one's life is over. */
const GRANT_SHARE = 0.5;

/** An answer about a slot, with its proof if the application has the vendor's key. */
export interface ProvenAnswer {
  readonly answer: Answer;
  readonly lease: Lease;
  readonly grant: Grant | null;
  readonly proof: Proof | null;
}

/**
 * Sends requests for one slot. With the vendor's key, the slot may be used only as long as a grant proves it,
 * whoever answers.
 */
export class SlotRequests {
  readonly #account: Account;
  readonly #feature: string | null;
  #lease: Lease | null = null;

  constructor(account: Account, feature: string | null = null) {
    this.#account = account;
    this.#feature = feature;
  }

  async send(path: string, fields: object, headers: Record<string, string> = {}): Promise<ProvenAnswer> {
    const { verifier, servers } = this.#account;
    if (verifier === null) {
      const answer = await servers.post(path, fields, headers);
      this.#lease = readLease(answer, this.#lease?.lastsMs);
      return { answer, lease: this.#lease, grant: null, proof: null };
    }
    if (path !== 'borrow' && !this.#needsGrant()) {
      return this.#keep(await servers.post(path, fields, headers));
    }
    const nonce = this.#account.environment.createId();
    const answer = await servers.post(path, { ...fields, nonce }, headers);
    try {
      return await this.#prove(answer, nonce);
    } catch (error) {
      if (this.#lease === null && this.#feature === null) await this.#giveBack(fields);
      throw error;
    }
  }

  /** A slot that cannot be used is not kept, if the server is a real one after all. */
  async #giveBack(fields: object): Promise<void> {
    await this.#account.servers.post('unregister', fields).catch(() => {});
  }

  #needsGrant(): boolean {
    if (this.#lease === null) return true;
    const { sentAtMs, lastsMs } = this.#lease;
    return this.#account.clock.readMs() >= sentAtMs + lastsMs * GRANT_SHARE;
  }

  /** The server keeps the slot for longer, but that is not proven. */
  #keep(answer: Answer): ProvenAnswer {
    const known = this.#lease as Lease;
    const { sentAtMs, renewAfterMs, borrowedUntil } = readLease(answer, known.lastsMs);
    const lease = { ...known, renewAfterMs: sentAtMs - known.sentAtMs + renewAfterMs, borrowedUntil };
    return { answer, lease, grant: null, proof: null };
  }

  async #prove(answer: Answer, nonce: string): Promise<ProvenAnswer> {
    const { grant, certificate } = answer.fields;
    if (typeof grant !== 'string') throw new ProofError('The server has sent no grant.');
    if (typeof certificate !== 'string') throw new ProofError('The server has no certificate of the vendor.');
    const proof = { grant, certificate, nonce };
    const claims = await proveFor(this.#account, proof, this.#feature);
    const lastsMs = Date.parse(claims.valid_until) - Date.parse(claims.issued_at);
    const lease = { ...readLease(answer, this.#lease?.lastsMs), lastsMs };
    this.#lease = lease;
    return { answer, lease, grant: claims, proof };
  }
}

export function proveFor(account: Account, proof: Proof, feature: string | null): Promise<Grant> {
  const { verifier, product, user, environment } = account;
  if (verifier === null) throw new Error('There is no key to prove it with.');
  return verifier.verify(proof, { product, user, feature }, environment.readWallMs());
}
