import { ProofError } from '../errors.ts';
import type { Account } from '../lending/account.ts';
import { type Lease, MINUTE_MS, RENEW_SHARE, readLease } from '../lending/lease.ts';
import type { Answer } from '../servers.ts';
import type { Grant, Proof } from './verifier.ts';

/**
 * A grant costs the server more than the renewal itself, so most renewals come without one. They are believed
 * if the server is the one that was proven last. If another takes its place, this finds it out.
 */
export const RENEWALS_PER_GRANT = 192;
const LONGEST_WITHOUT_GRANT_MS = 86_400_000;

const NO_GRANT = 'It has sent no grant: it does not sign grants.';
const UPGRADE = 'Ask the administrator to upgrade the license server.';
const NO_CERTIFICATE =
  'It has no certificate of the vendor, so its grant proves only that it is the same server as before, ' +
  'not that the vendor has licensed it.';
const GET_CERTIFICATE =
  'Ask the administrator to connect the license server to the vendor, or to install a certificate of the ' +
  'vendor with "berth identity certify".';

/** An answer about a slot, with its proof if the application has the vendor's key. */
export interface ProvenAnswer {
  readonly answer: Answer;
  readonly lease: Lease;
  readonly grant: Grant | null;
  readonly proof: Proof | null;
}

interface SendOptions {
  readonly headers?: Record<string, string>;
  /** Whether the answer has to be proven, even if no grant is due. */
  readonly inDoubt?: boolean;
}

/** What was proven last. */
interface Proven {
  readonly server: string;
  readonly lease: Lease;
  /** How long slots of the license last: no answer without proof extends the slot by more. */
  readonly timeoutMs: number;
  /** How many renewals followed without proof. */
  renewals: number;
}

/**
 * Sends requests for one slot. With the vendor's key, only the server that has proven itself may extend it,
 * and it has to do so again and again.
 */
export class SlotRequests {
  readonly #account: Account;
  readonly #feature: string | null;
  #proven: Proven | null = null;

  constructor(account: Account, feature: string | null = null) {
    this.#account = account;
    this.#feature = feature;
  }

  async send(path: string, fields: object, options: SendOptions = {}): Promise<ProvenAnswer> {
    const { verifier, servers } = this.#account;
    const { headers = {}, inDoubt = false } = options;
    if (verifier === null) return this.#trust(await servers.post(path, fields, headers));
    const proven = this.#proven;
    if (proven !== null && path !== 'borrow' && !inDoubt && !this.#isGrantDue(proven)) {
      const answer = await servers.post(path, fields, headers);
      if (answer.server === proven.server) return extend(proven, answer);
    }
    const nonce = this.#account.environment.createId();
    const answer = await servers.post(path, { ...fields, nonce }, headers);
    try {
      return await this.#prove(answer, nonce);
    } catch (error) {
      if (proven !== null) proven.renewals = RENEWALS_PER_GRANT;
      else if (this.#feature === null) await this.#giveBack(fields);
      throw error;
    }
  }

  /** A slot that cannot be used is not kept, if the server is a real one after all. */
  async #giveBack(fields: object): Promise<void> {
    await this.#account.servers.post('unregister', fields).catch(() => {});
  }

  #trust(answer: Answer): ProvenAnswer {
    return { answer, lease: readLease(answer), grant: null, proof: null };
  }

  #isGrantDue({ renewals, lease }: Proven): boolean {
    const provenForMs = this.#account.clock.readMs() - lease.sentAtMs;
    return renewals + 1 >= RENEWALS_PER_GRANT || provenForMs + lease.renewAfterMs > LONGEST_WITHOUT_GRANT_MS;
  }

  async #prove(answer: Answer, nonce: string): Promise<ProvenAnswer> {
    const { grant, certificate } = answer.fields;
    if (typeof grant !== 'string') throw new ProofError(NO_GRANT, undefined, UPGRADE);
    if (typeof certificate !== 'string') throw new ProofError(NO_CERTIFICATE, undefined, GET_CERTIFICATE);
    const proof = { grant, certificate, nonce };
    const claims = await proveFor(this.#account, proof, this.#feature);
    const lastsMs = Date.parse(claims.valid_until) - Date.parse(claims.issued_at);
    const lease = { ...readLease(answer), lastsMs };
    const timeoutMs = Number(claims.limits?.floating_timeout) * MINUTE_MS || lastsMs;
    this.#proven = { server: answer.server, lease, timeoutMs, renewals: 0 };
    return { answer, lease, grant: claims, proof };
  }
}

/**
 * An answer without proof of the server that has proven itself. It cannot extend the slot beyond a timeout
 * from now, nor delay the next renewals. A borrow ends when its grant says.
 */
function extend(proven: Proven, answer: Answer): ProvenAnswer {
  const { lease: last, timeoutMs } = proven;
  const told = readLease(answer);
  const provenForMs = last.sentAtMs + last.lastsMs - told.sentAtMs;
  const lastsMs = Math.min(told.lastsMs, Math.max(timeoutMs, provenForMs));
  const renewAfterMs = Math.min(told.renewAfterMs, timeoutMs * RENEW_SHARE);
  proven.renewals += 1;
  return { answer, lease: { ...told, lastsMs, renewAfterMs }, grant: null, proof: null };
}

export function proveFor(account: Account, proof: Proof, feature: string | null): Promise<Grant> {
  const { verifier, product, user, environment } = account;
  if (verifier === null) throw new Error('There is no key to prove it with.');
  return verifier.verify(proof, { product, user, feature }, environment.readWallMs());
}
