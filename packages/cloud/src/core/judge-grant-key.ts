/** What is known when a server tells the key of its grants in a file. */
interface GrantKeyFacts {
  /** A pair of keys that opens the license has signed the file. */
  readonly isVouched: boolean;
  /** The vendor approved the key that signed the file, and its machine has given nothing back since. */
  readonly isApproved: boolean;
  /** Another customer has a proven license on the machine. */
  readonly isShared: boolean;
  /** The vendor, or a pair that opens the license, confirmed the key that signed the file. */
  readonly isConfirmed: boolean;
  /** The grant key already known for this activation is proven. */
  readonly wasProven: boolean;
  readonly isSameKey: boolean;
}

/** A license key proves nothing, so nothing is certified for those who know one and no more. */
export function isGrantKeyProven(facts: GrantKeyFacts): boolean {
  const { isVouched, isApproved, isShared, isConfirmed, wasProven, isSameKey } = facts;
  return isVouched || (isApproved && !isShared) || (wasProven && (isSameKey || isConfirmed));
}
