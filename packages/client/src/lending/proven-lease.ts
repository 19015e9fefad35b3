import { ProofError } from '../errors.ts';
import type { Grant, Proof } from '../proof/verifier.ts';
import type { Answer } from '../servers.ts';
import type { Account } from './account.ts';
import { HOUR_MS, type Lease, MINUTE_MS, RENEW_SHARE, readLease } from './lease.ts';

/**
 * A grant costs the server more than the renewal itself, so most renewals come without one. They are accepted
 * from the server that was proven last. After so many renewals it must prove itself again.
 */
export const RENEWALS_PER_GRANT = 192;
const LONGEST_WITHOUT_GRANT_MS = 86_400_000;

/** One for each key of the vendor. */
const MAX_CERTIFICATES = 8;

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
  /** As for `Servers.post`. */
  readonly store?: string | null;
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
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
 * Sends requests for one slot. With the vendor's key, only a server that has proven itself may extend it, and
 * it must prove itself again from time to time.
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
    const { inDoubt = false, ...posting } = options;
    if (verifier === null) {
      const answer = await servers.post(path, fields, posting);
      return { answer, lease: readLease(answer), grant: null, proof: null };
    }
    const proven = this.#proven;
    if (proven !== null && path !== 'borrow' && !inDoubt && !this.#isGrantDue(proven)) {
      const answer = await servers.post(path, fields, posting);
      if (answer.server === proven.server) return extend(proven, answer);
    }
    const nonce = this.#account.environment.createId();
    const answer = await servers.post(path, { ...fields, nonce }, posting);
    try {
      return await this.#prove(answer, nonce);
    } catch (error) {
      if (proven !== null) proven.renewals = RENEWALS_PER_GRANT;
      // A borrow may have been there before, so that is for the caller.
      else if (this.#feature === null && path !== 'borrow') await this.#giveBack(fields);
      throw error;
    }
  }

  /** A slot that cannot be used is not kept, if the server is a real one after all. */
  async #giveBack(fields: object): Promise<void> {
    await this.#account.servers.post('unregister', fields).catch(() => {});
  }

  #isGrantDue({ renewals, lease }: Proven): boolean {
    const provenForMs = this.#account.clock.readMs() - lease.sentAtMs;
    return renewals + 1 >= RENEWALS_PER_GRANT || provenForMs + lease.renewAfterMs > LONGEST_WITHOUT_GRANT_MS;
  }

  async #prove(answer: Answer, nonce: string): Promise<ProvenAnswer> {
    const { environment } = this.#account;
    const facts = { nonce, feature: this.#feature, nowMs: environment.readWallMs() };
    const { grant, proof } = await proveAnswer(this.#account, answer, facts);
    const timeoutMs = longestMs(grant, false);
    const lastsMs = Math.min(lengthMs(grant), longestMs(grant, grant.borrowed));
    const stated = readLease(answer);
    const renewAfterMs = Math.min(stated.renewAfterMs, timeoutMs * RENEW_SHARE);
    const lease = { ...stated, lastsMs, renewAfterMs };
    this.#proven = { server: answer.server, lease, timeoutMs, renewals: 0 };
    return { answer, lease, grant, proof };
  }
}

/**
 * An answer without proof of the server that has proven itself. It cannot extend the slot beyond a timeout
 * from now, nor delay the next renewals. A borrow ends when its grant says.
 */
function extend(proven: Proven, answer: Answer): ProvenAnswer {
  const { lease: last, timeoutMs } = proven;
  const stated = readLease(answer);
  const provenForMs = last.sentAtMs + last.lastsMs - stated.sentAtMs;
  const lastsMs = Math.min(stated.lastsMs, Math.max(timeoutMs, provenForMs));
  const renewAfterMs = Math.min(stated.renewAfterMs, timeoutMs * RENEW_SHARE);
  proven.renewals += 1;
  return { answer, lease: { ...stated, lastsMs, renewAfterMs }, grant: null, proof: null };
}

/** How long the slot lasts from when the grant was issued. */
export function lengthMs(grant: Grant): number {
  return Date.parse(grant.valid_until) - Date.parse(grant.issued_at);
}

/** How long it can last by the limits of the license. Every slot has its timeout, a borrowed one, too. */
export function longestMs({ limits }: Grant, isBorrowed: boolean): number {
  const timeoutMs = Number(limits?.floating_timeout) * MINUTE_MS || 0;
  const borrowMs = isBorrowed ? Number(limits?.max_borrow_time) * HOUR_MS || 0 : 0;
  return Math.max(timeoutMs, borrowMs);
}

interface ProofFacts {
  readonly nonce: string;
  /** `null`: the slot of the license itself. */
  readonly feature: string | null;
  /** As for `Verifier.verify`. */
  readonly nowMs: number | null;
}

/** The grant in an answer, proven. */
export async function proveAnswer(account: Account, { fields }: Answer, facts: ProofFacts) {
  const { grant, certificate, other_certificates: others } = fields;
  if (typeof grant !== 'string') throw new ProofError(NO_GRANT, { advice: UPGRADE });
  const certificates = [certificate, ...(Array.isArray(others) ? others : [])].filter(isText);
  const [first] = certificates;
  // The server does not send an expired certificate.
  if (first === undefined)
    throw new ProofError(NO_CERTIFICATE, { advice: GET_CERTIFICATE, isRetryable: true });
  const chosen = certificates.length === 1 ? first : await chooseCertificate(account, certificates);
  const proof = { grant, certificate: chosen ?? first, nonce: facts.nonce };
  return { grant: await proveFor(account, proof, facts), proof };
}

/** The first certificate under a key that the application has. */
async function chooseCertificate({ verifier }: Account, certificates: readonly string[]) {
  for (const one of certificates.slice(0, MAX_CERTIFICATES)) if (await verifier?.isOfVendor(one)) return one;
  return undefined;
}

export function proveFor(account: Account, proof: Proof, facts: Omit<ProofFacts, 'nonce'>): Promise<Grant> {
  const { verifier, product, user } = account;
  if (verifier === null) throw new Error('There is no key to prove it with.');
  return verifier.verify(proof, { product, user, feature: facts.feature }, facts.nowMs);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
