import type { LicenseCommand, Target } from './command.ts';
import type { Decision } from './decision.ts';
import type { Collected } from './lending/collect.ts';
import type { Instant } from './nouns/instant.ts';
import type { License, LicenseId } from './nouns/license.ts';
import type { Refused } from './outcome.ts';
import type { AnswerScope, LicenseView, MeterNeed } from './view.ts';

/** Everything about one kind of command. The table of all kinds is in `decide.ts`. */
export interface CommandModule<C extends LicenseCommand> {
  /** What it is about. The store looks up the license, and `findRequestedLicenses` judges what it finds. */
  subject(command: C): Subject;
  /** Which meter the command is about; `null` for a feature that the license lacks. */
  meter?(command: C, license: License, now: Instant): MeterNeed | null;
  /** Pure: no clock, no I/O. The store may run it again with a newer view. */
  decide(command: C, view: LicenseView, now: Instant): Decision;
  /**
   * Records that every license of a pool refused. Only commands that any license of the pool can serve have
   * it; the others are about what the user holds.
   */
  deny?(command: C, view: LicenseView, base: Collected, refusal: Refused, now: Instant): Decision;
  /** Clients send it, so its events name the sender. Other commands name an actor only where it matters. */
  readonly isFromClients: boolean;
  /** It gives the user's slot back. */
  readonly isReturn: boolean;
  /** It changes the license itself, or which licenses there are. */
  readonly changesLicense: boolean;
  /** It also applies to a license that was removed: something of it has not ended yet. */
  mayBeRemoved?(command: C): boolean;
}

/** What a command is about, as far as the command alone can tell. */
export interface Subject extends Target {
  /** Who takes, returns or counts; `null`: the license as a whole. */
  readonly user: string | null;
  /** Whose registration the decision looks at; `null`: nobody's. */
  readonly holder: string | null;
  /** Other users whose slots it looks at. */
  readonly users: readonly string[];
  /** The answer that it repeats, if there is one. */
  readonly answer: AnswerScope | null;
}

const DEFAULTS = {
  isFromClients: false,
  isReturn: false,
  changesLicense: false,
};

const NONE: readonly never[] = [];

/** Defaults for a command of a user, on a license or a pool. */
export const ON_POOL = {
  ...DEFAULTS,
  subject({ product, licenseId, user }: Target & { readonly user: string | null }): Subject {
    return { product, licenseId, user, holder: user, users: NONE, answer: null };
  },
};

/** Defaults for a command on one license as a whole. */
export const ON_LICENSE = {
  ...DEFAULTS,
  subject({ licenseId }: { readonly licenseId: LicenseId }): Subject {
    return { product: null, licenseId, user: null, holder: null, users: NONE, answer: null };
  },
};
