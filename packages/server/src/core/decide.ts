import type {
  AddConsumption,
  Borrow,
  LicenseCommand,
  Register,
  RegisterFeature,
  ReleaseFeature,
  Target,
} from './command.ts';
import type { Decision } from './decision.ts';
import {
  ANSWER_LIFETIME_MS,
  answerScope,
  chooseCounted,
  decideAddConsumption,
} from './decisions/add-consumption.ts';
import { decideBorrow } from './decisions/borrow.ts';
import { decideCollect } from './decisions/collect.ts';
import { decideCutReport, decideResolveReport, decideSettleReport } from './decisions/cut-report.ts';
import { decideApplyVerdict, decideChangeLicense, decideRemoveLicense } from './decisions/install-license.ts';
import { decideRecall } from './decisions/recall.ts';
import { decideRegister } from './decisions/register.ts';
import {
  decideRegisterFeature,
  decideReleaseAllFeatures,
  decideReleaseFeature,
} from './decisions/register-feature.ts';
import { decideReleaseFrom } from './decisions/release-from.ts';
import { decideRelease, decideReleaseAll, decideUnregister } from './decisions/unregister.ts';
import { countInUse } from './lending/collect.ts';
import { DENIAL_WINDOW_MS, deniedPlace, NOBODY, PLACE_WINDOW_MS } from './lending/deny.ts';
import { mayHaveBorrows } from './lending/keep-borrows.ts';
import { withOrigin } from './lending/with-origin.ts';
import type { Actor } from './nouns/actor.ts';
import { WHOLE_LICENSE, windowStart } from './nouns/consumption.ts';
import type { Feature } from './nouns/feature.ts';
import { findFeature } from './nouns/feature-slot.ts';
import { type Instant, plus } from './nouns/instant.ts';
import { isUsable, type License, licenseId } from './nouns/license.ts';
import { refuseByRules } from './rules/rules.ts';
import { type LicenseHead, type LicenseView, type MeterNeed, NO_NEEDS, type ViewNeeds } from './view.ts';

/** Which license a command means; the store looks it up, and `listMeant` judges what it finds. */
export function targetOf(command: LicenseCommand): Target & { readonly user: string | null } {
  switch (command.kind) {
    case 'release_from':
    case 'release_all':
    case 'release_all_features':
    case 'collect':
    case 'remove_license':
    case 'apply_verdict':
    case 'cut_report':
    case 'settle_report':
    case 'resolve_report':
      return { product: null, licenseId: command.licenseId, user: null };
    case 'install_license':
      return { product: null, licenseId: licenseId(command.license.id), user: null };
    default:
      return command;
  }
}

/** Which meter the command is about; `null` for none, and for a feature that the license does not have. */
export function meterNeedOf(command: LicenseCommand, license: License, now: Instant): MeterNeed | null {
  switch (command.kind) {
    case 'add_consumption':
    case 'register_feature':
    case 'release_feature':
      return meterNeed(command.feature, license, now);
    case 'cut_report':
    case 'settle_report':
    case 'resolve_report':
      // A feature that the vendor took away may still have something to report.
      return (
        meterNeed(command.feature, license, now) ?? {
          feature: command.feature ?? WHOLE_LICENSE,
          windowStart: windowStart(null, now),
        }
      );
    default:
      return null;
  }
}

/** The meters of a license and of all its features. */
function meterNeedsOf(license: License, now: Instant): readonly MeterNeed[] {
  const own = { code: WHOLE_LICENSE, consumption: license.consumption };
  return [own, ...license.features].map((counted) => needOf(counted, now));
}

function meterNeed(code: string | null, license: License, now: Instant): MeterNeed | null {
  const consumption = code === null ? license.consumption : findFeature(license, code)?.consumption;
  return consumption === undefined ? null : needOf({ code: code ?? WHOLE_LICENSE, consumption }, now);
}

function needOf({ code, consumption }: Pick<Feature, 'code' | 'consumption'>, now: Instant): MeterNeed {
  return { feature: code, windowStart: windowStart(consumption.period, now) };
}

/** Which facts the decision will ask for, so that a view stays narrow: a renewal needs one registration. */
export function needsOf(command: LicenseCommand, head: LicenseHead, now: Instant): ViewNeeds {
  switch (command.kind) {
    case 'register':
    case 'borrow':
      return lendingNeeds(command, head, now);
    case 'unregister':
    case 'release':
    case 'recall':
      return {
        ...NO_NEEDS,
        registrationOf: command.user,
        endedBorrow: mayHaveBorrows(head.license),
        featureSlotsOf: command.user,
      };
    case 'add_consumption':
      return consumptionNeeds(command, head, now);
    case 'register_feature':
    case 'release_feature':
      return featureNeeds(command);
    case 'release_from':
      return { ...NO_NEEDS, holders: command.users };
    case 'release_all_features':
      return { ...NO_NEEDS, featureSlotCount: true };
    case 'cut_report':
    case 'settle_report':
    case 'resolve_report':
      return { ...NO_NEEDS, reports: true };
    case 'collect':
      return {
        ...NO_NEEDS,
        denialsOpenedBy: plus(now, -DENIAL_WINDOW_MS),
        placesOpenedBy: plus(now, -PLACE_WINDOW_MS),
        answersGivenBy: plus(now, -ANSWER_LIFETIME_MS),
      };
    case 'install_license':
      if (command.counted === undefined) return NO_NEEDS;
      return { ...NO_NEEDS, reports: true, meters: meterNeedsOf(command.license, now) };
    case 'release_all':
    case 'remove_license':
    case 'apply_verdict':
      return NO_NEEDS;
  }
}

function lendingNeeds(command: Register | Borrow, head: LicenseHead, now: Instant): ViewNeeds {
  const { user } = command;
  const mayBeDenied = mayDeny(command, head, now);
  return {
    ...NO_NEEDS,
    registrationOf: user,
    // A borrow may cut them short; and ended ones may lie beyond those that are collected anyway.
    featureSlotsOf: command.kind === 'borrow' || head.endedBeyond > 0 ? user : null,
    ...(mayBeDenied ? denialNeeds(command) : {}),
    nextEnd: mayBeDenied,
  };
}

function consumptionNeeds(command: AddConsumption, head: LicenseHead, now: Instant): ViewNeeds {
  const mayBeDenied = 'code' in chooseCounted(command, head, now);
  return {
    ...NO_NEEDS,
    answer: answerScope(command),
    ...(mayBeDenied ? denialNeeds(command) : {}),
    featureSlotsEnd: command.feature !== null,
  };
}

function featureNeeds(command: RegisterFeature | ReleaseFeature): ViewNeeds {
  const { user } = command;
  return {
    ...NO_NEEDS,
    registrationOf: user,
    featureSlotsOf: user,
    featureSlotsEnd: true,
    ...(command.kind === 'register_feature' ? denialNeeds(command) : {}),
  };
}

/** Adds earlier denials, for somebody whom the limits of an address may refuse. Renewals never need them. */
export function withDenials(needs: ViewNeeds, command: LicenseCommand): ViewNeeds {
  const isTaking = command.kind === 'register' || command.kind === 'borrow';
  return isTaking ? { ...needs, ...denialNeeds(command) } : needs;
}

function denialNeeds({ user, by }: { readonly user: string | null; readonly by?: Actor }) {
  return { denialsOf: user ?? NOBODY, denialsFrom: deniedPlace(by) };
}

function mayDeny(command: Register | Borrow, head: LicenseHead, now: Instant): boolean {
  if (command.kind === 'borrow' || !isUsable(head.license, now)) return true;
  return countInUse(head) >= head.license.slots || refuseByRules(head.rules, command) !== null;
}

/** Pure: no clock, no I/O. The store may run it again with a newer view. */
export function decide(command: LicenseCommand, view: LicenseView, now: Instant): Decision {
  return withOrigin(decideByKind(command, view, now), command);
}

function decideByKind(command: LicenseCommand, view: LicenseView, now: Instant): Decision {
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
    case 'release_from':
      return decideReleaseFrom(command, view, now);
    case 'release_all':
      return decideReleaseAll(command, view, now);
    case 'collect':
      return decideCollect(view, now);
    case 'add_consumption':
      return decideAddConsumption(command, view, now);
    case 'register_feature':
      return decideRegisterFeature(command, view, now);
    case 'release_feature':
      return decideReleaseFeature(command, view, now);
    case 'release_all_features':
      return decideReleaseAllFeatures(command, view, now);
    case 'cut_report':
      return decideCutReport(command, view, now);
    case 'settle_report':
      return decideSettleReport(command, view, now);
    case 'resolve_report':
      return decideResolveReport(command, view, now);
    case 'install_license':
      return decideChangeLicense(command, view, now);
    case 'remove_license':
      return decideRemoveLicense(command, view, now);
    case 'apply_verdict':
      return decideApplyVerdict(command, view, now);
  }
}
