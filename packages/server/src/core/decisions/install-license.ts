import type { FileFacts, InstallLicense } from '../command.ts';
import { type CommandModule, ON_LICENSE } from '../command-module.ts';
import type { Change, Decision } from '../decision.ts';
import { withHistory } from '../history/record-usage.ts';
import {
  certificateEvent,
  changeLicense,
  endByValidity,
  isSameCertificate,
  noteCheck,
} from '../lending/change-license.ts';
import { type RebasedAll, rebaseAll } from '../lending/cloud-total.ts';
import { collect, collectedChanges } from '../lending/collect.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import type { Meter } from '../nouns/consumption.ts';
import type { Instant } from '../nouns/instant.ts';
import { type License, licenseId } from '../nouns/license.ts';
import type { LicenseView } from '../view.ts';

/**
 * Updates a license that the server has. Users keep their slots when there are fewer of them; but no slot is
 * held longer than the new validity and grace allow.
 */
export const installLicense = {
  ...ON_LICENSE,
  changesLicense: true,
  subject: ({ license }) => ON_LICENSE.subject({ licenseId: licenseId(license.id) }),

  decide(command, view, now) {
    const { by, file } = command;
    const rebased = rebaseAll(command.license, command.counted, view, now, mayTake(command));
    const changed = changeLicense(view, tieNew(command, view, rebased, now), { by }, now);
    return {
      ...changed,
      changes: [...changed.changes, ...rebased.changes, ...answerRequest(file, view.license)],
      events: [...changed.events, ...rebased.events, ...certificateEvents(command, view.license)],
    };
  },
} satisfies CommandModule<InstallLicense>;

/** Adds a license. If the server had it before, its slots, totals and records are still there. */
export function decideAddLicense(command: InstallLicense, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  const rebased = rebaseAll(command.license, command.counted, view, now, mayTake(command));
  const license = tieNew(command, view, rebased, now);
  const { product, slots } = license;
  const added: Decision = {
    outcome: { kind: 'done', count: 1 },
    changes: [
      { kind: 'put_license', license },
      ...collectedChanges(view, base),
      ...endByValidity(license),
      ...rebased.changes,
      ...answerRequest(command.file),
    ],
    events: [
      ...base.events,
      { kind: 'license_added', product, slots, by: command.by },
      ...rebased.events,
      ...certificateEvents(command, null),
    ],
  };
  return withHistory(added, command, view, now);
}

/** The license, tied to this server. */
function tieNew(
  command: InstallLicense,
  view: LicenseView,
  { keptTotal }: RebasedAll,
  now: Instant,
): License {
  const checked = keepCertificate(noteCheck(command.license, now), view.license.tie);
  const license = noteFile(checked, command.file, view.license.tie);
  const { assurance } = license.tie;
  return assurance === undefined
    ? license
    : { ...license, tie: { ...license.tie, assurance: { ...assurance, keptTotal } } };
}

/** The vendor sends a certificate when one is due. Until then the license keeps the one it has here. */
function keepCertificate(license: License, known: License['tie']): License {
  const { tie } = license;
  const { certificate, hardwareId } = known;
  const isKept = tie.certificate === undefined && certificate !== undefined && hardwareId === tie.hardwareId;
  return isKept ? { ...license, tie: { ...tie, certificate } } : license;
}

/** `known`: the license before; `null` if it is added. */
function certificateEvents({ license, by }: InstallLicense, known: License | null): readonly LicenseEvent[] {
  const { certificate } = license.tie;
  const isNews = certificate !== undefined && !isSameCertificate(certificate, known?.tie.certificate);
  return isNews ? [certificateEvent(certificate, by)] : [];
}

/** A refresh answers no request, so the license keeps the request that brought it here. */
function noteFile(license: License, file: FileFacts | undefined, known: License['tie'] | null): License {
  const { fileAt, requestId, confirmationId } = known ?? license.tie;
  if (file === undefined) return { ...license, tie: { ...license.tie, fileAt, requestId, confirmationId } };
  const tie = {
    ...license.tie,
    fileAt: file.issuedAt,
    requestId: file.requestId ?? requestId,
    confirmationId: file.confirmationId ?? confirmationId,
  };
  return { ...license, tie };
}

/** The totals in a file are only used for meters that have not counted here: this server knows the others. */
function mayTake({ file }: InstallLicense): (meter: Meter) => boolean {
  return ({ total, pending, reported }) =>
    file === undefined || (total === 0 && pending === 0 && reported === 0);
}

function answerRequest(file: FileFacts | undefined, known: License | null = null): readonly Change[] {
  if (file === undefined || file.requestId === null || known?.tie.requestId === file.requestId) return [];
  return [{ kind: 'answer_request', requestId: file.requestId }];
}
