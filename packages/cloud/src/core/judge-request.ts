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
    'This request id was already used for something else. Create a new request.',
  );
}

/** What a file that a person carried asks for. */
export type FilePurpose = 'activation' | 'deactivation' | 'usage';

/** The key with which the server on a machine signs. */
export interface KnownKey {
  readonly key: string;
  /** The vendor approved it, or the keys for the cloud vouched for it: it speaks for the whole machine. */
  readonly isConfirmed: boolean;
}

export interface ServerKeyFacts {
  readonly hardwareId: string;
  readonly asks: FilePurpose;
  /** The key that the file names; `null`: none. */
  readonly claimed: string | null;
  readonly known: KnownKey | null;
  /** The keys for the cloud vouch for the file. */
  readonly isVouched: boolean;
  /** The machine has a license, this one or another. */
  readonly hasLicense: boolean;
  /**
   * Whether the known key signed for the activation of what the file is about or, where that is not on the
   * machine, for anything that is; `null`: nothing contradicts it.
   */
  readonly isSigned: boolean | null;
}

/**
 * A license key and a hardware id are no proof, so a key is learned only when it brings a new machine, and
 * then speaks for what it activated itself. For what came over the network or by codes nobody has shown a
 * key: there the first file waits until the vendor approves its key, unless the keys for the cloud vouch.
 */
export function judgeServerKey(facts: ServerKeyFacts): 'keep' | 'learn' | 'wait' | Refusal {
  const { claimed, known, isVouched, hasLicense, isSigned } = facts;
  if (claimed === null) return 'keep';
  const isKnown = claimed === known?.key;
  if (isVouched) return isKnown && known.isConfirmed ? 'keep' : 'learn';
  const isProven = known !== null && (known.isConfirmed || isSigned !== false);
  if (isKnown) return isProven ? 'keep' : 'wait';
  if (known === null && !hasLicense && facts.asks === 'activation') return 'learn';
  const isSettled = known !== null && (known.isConfirmed || isSigned === true);
  return isSettled && hasLicense ? refuseOtherKey(facts) : 'wait';
}

function refuseOtherKey({ hardwareId, asks }: ServerKeyFacts): Refusal {
  return refuse(
    asks === 'usage' ? 'usage_file_invalid' : 'signature_mismatch',
    `The machine "${hardwareId}" is known by a different key. If its data was replaced, ` +
      'the vendor must reset its licenses first.',
  );
}

/** Says it to whoever handed the file in; they and the vendor compare the fingerprint before it counts. */
export function refuseWaiting(hardwareId: string, fingerprint: string, isKept: boolean): Refusal {
  const next = isKept
    ? 'If "berth status" on the server shows this fingerprint as identity_key, ask the vendor to run ' +
      '"cloud device approve", then submit the file again.'
    : 'Too many other keys are waiting for this machine. Send the file to the vendor.';
  return refuse(
    'server_key_not_approved',
    `The machine "${hardwareId}" is not known by the key that signed this file (fingerprint ` +
      `${fingerprint}), so nothing was done. ${next}`,
    { hardware_id: hardwareId, fingerprint },
  );
}

/** Bounds on the keys that wait, so that strangers can neither fill the table nor push others out. */
export const WAITING = { perMachine: 8, perAddressAndMachine: 2, inAll: 1000, days: 30 } as const;

interface WaitingCounts {
  readonly ofMachine: number;
  readonly ofAddressAndMachine: number;
  readonly inAll: number;
}

/** Keys that came first stay. Files that the vendor hands in always find room; see `makeRoom`. */
export function hasRoomToWait(counts: WaitingCounts): boolean {
  return (
    counts.ofMachine < WAITING.perMachine &&
    counts.ofAddressAndMachine < WAITING.perAddressAndMachine &&
    counts.inAll < WAITING.inAll
  );
}

/** Later than every file before, whatever the clock says: of two files of a license the newer one counts. */
export function dateFile(lastFileAt: number, now: number): number {
  return Math.max(now, lastFileAt + 1);
}

/**
 * A request has a thousand bytes; a usage file has more, with the features of the license. The amounts of two
 * licenses as large as servers take them fit in here, under the longest codes that there are.
 */
export const MOST_FILE_BYTES = 512 * 1024;
