import type { Command, LicenseCommand } from './command.ts';
import type { CommandModule, Subject } from './command-module.ts';
import type { Decision } from './decision.ts';
import { addConsumption } from './decisions/add-consumption.ts';
import { applyVerdict } from './decisions/apply-verdict.ts';
import { borrow } from './decisions/borrow.ts';
import { certifyLicense } from './decisions/certify-license.ts';
import { collect } from './decisions/collect.ts';
import { doubtLicense } from './decisions/doubt-license.ts';
import { installLicense } from './decisions/install-license.ts';
import { register } from './decisions/register.ts';
import { registerFeature } from './decisions/register-feature.ts';
import { releaseAll, releaseAllFeatures } from './decisions/release-all.ts';
import { releaseFeature } from './decisions/release-feature.ts';
import { releaseFrom } from './decisions/release-from.ts';
import { removeLicense } from './decisions/remove-license.ts';
import { cutReport, resolveReport, settleReport } from './decisions/report-consumption.ts';
import { recall, release, unregister } from './decisions/return-slot.ts';
import { thinHistory } from './decisions/thin-history.ts';
import { withHistory } from './history/record-usage.ts';
import { collect as collectFrom, withoutEffect } from './lending/collect.ts';
import type { Actor } from './nouns/actor.ts';
import type { LicenseEvent } from './nouns/audit-event.ts';
import type { Instant } from './nouns/instant.ts';
import type { LicenseView } from './view.ts';

/** Every kind of command on a license. */
const MODULES = {
  register,
  borrow,
  unregister,
  release,
  recall,
  release_from: releaseFrom,
  release_all: releaseAll,
  collect,
  install_license: installLicense,
  remove_license: removeLicense,
  apply_verdict: applyVerdict,
  certify_license: certifyLicense,
  doubt_license: doubtLicense,
  add_consumption: addConsumption,
  register_feature: registerFeature,
  release_feature: releaseFeature,
  release_all_features: releaseAllFeatures,
  cut_report: cutReport,
  settle_report: settleReport,
  resolve_report: resolveReport,
  thin_history: thinHistory,
} satisfies { [K in LicenseCommand['kind']]: CommandModule<Extract<LicenseCommand, { kind: K }>> };

export const COMMAND_KINDS = Object.keys(MODULES);

export function isLicenseCommand(command: Command): command is LicenseCommand {
  return command.kind in MODULES;
}

export function moduleOf(command: LicenseCommand): CommandModule<LicenseCommand> {
  return MODULES[command.kind] as CommandModule<LicenseCommand>;
}

export function subjectOf(command: LicenseCommand): Subject {
  return moduleOf(command).subject(command);
}

export function decide(command: LicenseCommand, view: LicenseView, now: Instant): Decision {
  const module = moduleOf(command);
  const decision = withHistory(module.decide(command, view, now), command, view, now);
  return module.isFromClients ? withOrigin(decision, command) : decision;
}

/** Removes what has ended, and nothing else. */
export function collectEnded(view: LicenseView, now: Instant): Decision {
  const base = collectFrom(view, now);
  const decision = withoutEffect(view, base, { kind: 'done', count: base.changes.length });
  return withHistory(decision, { kind: 'collect', licenseId: view.license.id }, view, now);
}

/** Events that a command only comes across: the sender did not cause them. */
const FOUND: ReadonlySet<LicenseEvent['kind']> = new Set([
  'slot_expired',
  'feature_expired',
  'denials_repeated',
]);

/** Names the sender of a command, and their address, on every event that they caused. */
export function withOrigin(decision: Decision, command: object): Decision {
  const by = 'by' in command ? (command.by as Actor | undefined) : undefined;
  if (by === undefined || decision.events.length === 0) return decision;
  return { ...decision, events: decision.events.map((event) => sign(event, by)) };
}

function sign(event: LicenseEvent, by: Actor): LicenseEvent {
  return FOUND.has(event.kind) || event.by != null ? event : { ...event, by };
}
