import { type Refusal, refuse } from './refusal.ts';

/** A request that a person carried here, as it is remembered. */
export interface SeenRequest {
  /** Of everything that was asked. */
  readonly digest: string;
  readonly licenseId: number;
}

/** An id serves once. The very same request again hears the very same answer. */
export function judgeRepeat(seen: SeenRequest | null, asked: SeenRequest): 'new' | 'repeat' | Refusal {
  if (seen === null) return 'new';
  if (seen.digest === asked.digest && seen.licenseId === asked.licenseId) return 'repeat';
  return refuse(
    'offline_request_used',
    'This request id was used before, for something else. Make a new one.',
  );
}

export interface ServerKeyFacts {
  readonly hardwareId: string;
  /** The key that the request names; `null`: none. */
  readonly claimed: string | null;
  /** The key that the machine was known by so far. */
  readonly known: string | null;
  /** The keys for the cloud vouch for the request. */
  readonly isVouched: boolean;
  /** The machine has a license. */
  readonly hasLicense: boolean;
}

/**
 * A machine that has a license keeps its key, unless the keys for the cloud vouch for another: otherwise
 * whoever knows its name could speak for it.
 */
export function judgeServerKey(facts: ServerKeyFacts): 'keep' | 'learn' | Refusal {
  const { claimed, known, isVouched, hasLicense } = facts;
  if (claimed === null || claimed === known) return 'keep';
  if (known === null || isVouched || !hasLicense) return 'learn';
  return refuse(
    'signature_mismatch',
    `The machine "${facts.hardwareId}" is known by another key. If its data was replaced, ` +
      'the vendor has to reset its licenses first.',
  );
}

/** Later than every file before, whatever the clock says: of two files of a license the newer one counts. */
export function dateFile(lastFileAt: number, now: number): number {
  return Math.max(now, lastFileAt + 1);
}

/** What a person carries has a few thousand bytes. */
export const MOST_FILE_BYTES = 1024 * 1024;
