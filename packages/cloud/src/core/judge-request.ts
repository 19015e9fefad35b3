import { type Refusal, refuse } from './refusal.ts';

/** A stored offline request. */
export interface SeenRequest {
  /** The digest of the whole request. */
  readonly digest: string;
  readonly licenseId: number;
}

/** An id can be used only once. Repeating the identical request returns the identical reply. */
export function judgeRepeat(seen: SeenRequest | null, asked: SeenRequest): 'new' | 'repeat' | Refusal {
  if (seen === null) return 'new';
  if (seen.digest === asked.digest && seen.licenseId === asked.licenseId) return 'repeat';
  return refuse(
    'offline_request_used',
    'This request id was already used for something else. Create a new request.',
  );
}

/** What an offline file asks for; a certificate is also asked for online. */
export type FilePurpose = 'activation' | 'deactivation' | 'usage' | 'certificate';

/** The signing key of the server on a machine. */
export interface KnownKey {
  readonly key: string;
  /** Approved by the vendor, or vouched for by API keys: it is valid for the whole machine. */
  readonly isConfirmed: boolean;
}

export interface ServerKeyFacts {
  readonly hardwareId: string;
  readonly asks: FilePurpose;
  /** The key in the file; `null`: none. */
  readonly claimed: string | null;
  readonly known: KnownKey | null;
  /** The file is signed with API keys. */
  readonly isVouched: boolean;
  /** The machine has a license, this one or another. */
  readonly hasLicense: boolean;
  /**
   * Whether the known key signed the activation of the licenses in the file or, if none of them is on the
   * machine, of any license there; `null`: nothing contradicts it.
   */
  readonly isSigned: boolean | null;
}

/**
 * A license key and a hardware id prove nothing, so a key is learned only together with a new machine, and is
 * then valid for the licenses it activated. Licenses activated online or by codes have no key yet: their
 * first file waits until the vendor approves its key, unless API keys vouch for it.
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

/** Shows the fingerprint to the user, who compares it with the vendor before the file is accepted. */
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

/** Limits on waiting keys, so that strangers can neither fill the table nor evict other keys. */
export const WAITING = { perMachine: 8, perAddressAndMachine: 2, inAll: 1000, days: 30 } as const;

interface WaitingCounts {
  readonly ofMachine: number;
  readonly ofAddressAndMachine: number;
  readonly inAll: number;
}

/** Older keys stay. There is always room for a file that the vendor submits; see `makeRoom`. */
export function hasRoomToWait(counts: WaitingCounts): boolean {
  return (
    counts.ofMachine < WAITING.perMachine &&
    counts.ofAddressAndMachine < WAITING.perAddressAndMachine &&
    counts.inAll < WAITING.inAll
  );
}

/** Later than every earlier file, whatever the clock says: the newest file of a license wins. */
export function dateFile(lastFileAt: number, now: number): number {
  return Math.max(now, lastFileAt + 1);
}

/**
 * A request has about a thousand bytes; a usage file has more, because it lists features. The limit allows
 * for two licenses of the largest size that servers accept, with the longest codes.
 */
export const MAX_FILE_BYTES = 512 * 1024;
