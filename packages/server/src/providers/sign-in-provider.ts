import type { GroupAnswer } from '../core/rules/directory-groups.ts';

/** What only the browser that began knows, in three forms that nobody can compute from each other. */
export interface AttemptSecrets {
  /** Comes back with the answer of the provider. */
  readonly state: string;
  /** Comes back in the signed statement of the provider. */
  readonly nonce: string;
  /** Needed to redeem the code of the answer (PKCE). */
  readonly verifier: string;
}

/** Somebody whom the provider has identified. */
export interface Person {
  /** The id that never changes. */
  readonly subject: string;
  readonly name: string;
  /** `null`: the provider says nothing about them. */
  readonly groups: readonly string[] | null;
  /** How long ago they have shown who they are; `null`: the provider says nothing about it. */
  readonly shownAgoMs?: number | null;
}

/** Somebody whose account in the directory is disabled or has expired. They count as nobody. */
export interface Absent {
  /** Why, for the audit log: whoever signs in is not told. */
  readonly absent: string;
}

/** Where people of a company sign in. Every failure is a `ProviderFault`. */
export interface SignInProvider {
  /**
   * The address at which the browser goes on. `page`: where it comes back to. `isAnew`: they have to show who
   * they are, even if the provider still knows.
   */
  begin(secrets: AttemptSecrets, page: string, isAnew: boolean): Promise<string>;
  /** `answer`: the query with which the browser came back. */
  finish(secrets: AttemptSecrets, page: string, answer: string): Promise<Person>;
  /** The address that ends the session at the provider; `null` if it offers none. */
  findSignOut(): Promise<string | null>;
  /** Throws if nobody could sign in now. */
  probe(): Promise<void>;
}

/** Where the names and passwords of a company are checked. Every failure is a `ProviderFault`. */
export interface Directory {
  /** `null`: nobody has this name and this password. `signal`: nobody waits for the answer any more. */
  find(name: string, password: string, signal?: AbortSignal): Promise<Person | Absent | null>;
  /** Throws if nobody could be found now. */
  probe(): Promise<void>;
  /** Who is in these groups, by the names that people have here. */
  listMembers(groups: readonly string[]): Promise<readonly GroupAnswer[]>;
}

/** The message says what the provider did, and what to do about it. */
export class ProviderFault extends Error {
  /** `unavailable`: it may work later. `refused`: it does not vouch for anybody. */
  readonly kind: 'unavailable' | 'refused';

  constructor(kind: ProviderFault['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}
