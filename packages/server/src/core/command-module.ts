import type { LicenseCommand, Target } from './command.ts';
import type { Decision } from './decision.ts';
import type { Collected } from './lending/collect.ts';
import type { Instant } from './nouns/instant.ts';
import type { License, LicenseId } from './nouns/license.ts';
import type { Registration } from './nouns/registration.ts';
import type { Refused } from './outcome.ts';
import type { LicenseHead, LicenseView, MeterNeed, ViewNeeds } from './view.ts';

/** Everything about one kind of command. The table of all kinds is in `decide.ts`. */
export interface CommandModule<C extends LicenseCommand> {
  /** Which license the command means. The store looks it up; `listMeant` judges what it finds. */
  target(command: C): CommandTarget;
  /** Whose registration the decision looks at; `null`: nobody's. */
  holder(command: C): string | null;
  /** Which meter the command is about; `null` for none, and for a feature that the license lacks. */
  meter(command: C, license: License, now: Instant): MeterNeed | null;
  /** Which other facts the decision needs, so that the view stays narrow. `registration` is the holder's. */
  needs(command: C, head: LicenseHead, registration: Registration | null, now: Instant): ViewNeeds;
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
  mayBeRemoved(command: C): boolean;
}

export interface CommandTarget extends Target {
  readonly user: string | null;
}

const NO_NEEDS: ViewNeeds = {};

const DEFAULTS = {
  meter: () => null,
  needs: () => NO_NEEDS,
  isFromClients: false,
  isReturn: false,
  changesLicense: false,
  mayBeRemoved: () => false,
};

/** Defaults for a command of a user, on a license or a pool. */
export const ON_POOL = {
  ...DEFAULTS,
  target: (command: CommandTarget): CommandTarget => command,
  holder: ({ user }: CommandTarget): string | null => user,
};

/** Defaults for a command on one license as a whole. */
export const ON_LICENSE = {
  ...DEFAULTS,
  target: ({ licenseId }: { readonly licenseId: LicenseId }): CommandTarget => {
    return { product: null, licenseId, user: null };
  },
  holder: () => null,
};
