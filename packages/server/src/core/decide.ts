import { countInUse } from './collect.ts';
import type { Borrow, LicenseCommand, Register, Target } from './command.ts';
import { decideBorrow } from './decide-borrow.ts';
import { decideCollect } from './decide-collect.ts';
import { decideChangeLicense } from './decide-install-license.ts';
import { decideRecall, recallWindowStart } from './decide-recall.ts';
import { decideRegister } from './decide-register.ts';
import { decideRelease, decideReleaseAll, decideUnregister } from './decide-unregister.ts';
import type { Decision } from './decision.ts';
import { DENIAL_WINDOW_MS } from './deny.ts';
import { type Instant, plus } from './instant.ts';
import { isUsable, licenseId } from './license.ts';
import { type LicenseHead, type LicenseView, NO_NEEDS, type ViewNeeds } from './view.ts';

/** Which license a command means; the store looks it up and lets `chooseLicense` decide. */
export function targetOf(command: LicenseCommand): Target & { readonly user: string | null } {
  switch (command.kind) {
    case 'release_all':
    case 'collect':
      return { product: null, licenseId: command.licenseId, user: null };
    case 'install_license':
      return { product: null, licenseId: licenseId(command.license.id), user: null };
    default:
      return command;
  }
}

/** Which facts the decision will ask for, so that a view stays narrow: a renewal needs one registration. */
export function needsOf(command: LicenseCommand, head: LicenseHead, now: Instant): ViewNeeds {
  switch (command.kind) {
    case 'register':
    case 'borrow':
      return lendingNeeds(command, mayDeny(command, head, now));
    case 'unregister':
    case 'release':
      return { ...NO_NEEDS, registrationOf: command.user };
    case 'recall':
      return {
        ...NO_NEEDS,
        registrationOf: command.user,
        recallsAfter: recallWindowStart(head.license, now),
      };
    case 'collect':
      return { ...NO_NEEDS, denialsOpenedBy: plus(now, -DENIAL_WINDOW_MS) };
    case 'release_all':
    case 'install_license':
      return NO_NEEDS;
  }
}

function lendingNeeds({ user }: Register | Borrow, mayBeDenied: boolean): ViewNeeds {
  return {
    ...NO_NEEDS,
    registrationOf: user,
    denialsOf: mayBeDenied ? user : null,
    nextEnd: mayBeDenied,
  };
}

function mayDeny(command: LicenseCommand, head: LicenseHead, now: Instant): boolean {
  return command.kind === 'borrow' || !isUsable(head.license, now) || countInUse(head) >= head.license.slots;
}

/** Pure: no clock, no I/O. The store may run it again with a newer view. */
export function decide(command: LicenseCommand, view: LicenseView, now: Instant): Decision {
  switch (command.kind) {
    case 'register':
      return decideRegister(command, view, now);
    case 'borrow':
      return decideBorrow(command, view, now);
    case 'unregister':
      return decideUnregister(command, view, now);
    case 'release':
      return decideRelease(command, view, now);
    case 'recall':
      return decideRecall(command, view, now);
    case 'release_all':
      return decideReleaseAll(command, view, now);
    case 'collect':
      return decideCollect(view, now);
    case 'install_license':
      return decideChangeLicense(command, view, now);
  }
}
