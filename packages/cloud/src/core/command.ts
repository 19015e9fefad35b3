import type { HostFacts } from './license.ts';

/** The requested license, the machine, and the proof of the caller. */
export interface Identity {
  readonly product: string;
  readonly hardwareId: string;
  /** Sent by callers that know the id; it must then match. */
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
  /** Limits the overage for this call. It can only lower what the license allows. */
  readonly allowOverages: boolean | null;
  readonly maxOverages: number | null;
  /** A floating server has already consumed it and only reports it now. */
  readonly isSync: boolean;
  readonly reportId: string | null;
}

export type Command = Activate | Check | Deactivate | Count;
