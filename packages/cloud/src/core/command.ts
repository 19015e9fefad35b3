import type { HostFacts } from './license.ts';

/** Which license is meant, for which machine, and by what right. */
export interface Identity {
  readonly product: string;
  readonly hardwareId: string;
  /** Sent by callers that know it; it then has to be the right one. */
  readonly licenseId: number | null;
  readonly proof: KeyProof | UserProof;
}

export interface KeyProof {
  readonly kind: 'key';
  readonly key: string;
}

export interface UserProof {
  readonly kind: 'user';
  readonly name: string;
  readonly password: 'none' | 'wrong' | { readonly fits: string };
}

export interface Activate {
  readonly kind: 'activate';
  readonly who: Identity;
  readonly host: HostFacts;
}

export interface Check {
  readonly kind: 'check';
  readonly who: Identity;
}

export interface Deactivate {
  readonly kind: 'deactivate';
  readonly who: Identity;
}

export interface Count {
  readonly kind: 'count';
  readonly who: Identity;
  /** `null`: the license itself. */
  readonly feature: string | null;
  readonly amount: number;
  /** How the caller narrows the overage for this one call. Nothing in it can widen what is granted. */
  readonly allowOverages: boolean | null;
  readonly maxOverages: number | null;
  /** It was already used on a floating server, and is only told now. */
  readonly isSync: boolean;
  readonly reportId: string | null;
}

export type Command = Activate | Check | Deactivate | Count;
