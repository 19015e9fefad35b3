import type { LicenseCommand } from '../../../core/command.ts';
import { targetOf } from '../../../core/decide.ts';
import type { Pool } from '../../../core/lending/decide-pool.ts';
import {
  ANSWER_LIFETIME_MS,
  answerScope,
  isRemembered,
  repeatAnswer,
} from '../../../core/lending/repeat-answer.ts';
import { plus } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import { isLive } from '../../../core/nouns/registration.ts';
import type { Measured, Refused } from '../../../core/outcome.ts';
import type { Candidate, LicenseView } from '../../../core/view.ts';
import type { LoadedLicense, LoadedLicenses } from '../loaded-licenses.ts';
import { findAnswer, findRegistration, loadView, type ViewSource } from './load-view.ts';

/** The licenses of a product. A view is loaded when the decision asks for it, and only once. */
export function loadPool(
  source: ViewSource,
  entries: readonly LoadedLicense[],
  command: LicenseCommand,
  beforeView: (entry: LoadedLicense) => void,
): Pool {
  const views = new Map<LicenseId, LicenseView>();
  return {
    candidates: entries.map((entry) => candidateOf(source, entry, command)),
    viewOf(license) {
      const known = views.get(license.id);
      if (known !== undefined) return known;
      const entry = entries.find((one) => one.license.id === license.id) as LoadedLicense;
      beforeView(entry);
      const view = loadView(source, entry, command);
      views.set(license.id, view);
      return view;
    },
  };
}

/**
 * Repeats the answer that a license, removed since, gave to this same request, so that the repeat is not
 * counted again on another license of the product.
 */
export function repeatRemoved(
  { statements, licenses, now }: ViewSource & { readonly licenses: LoadedLicenses },
  [entry]: readonly LoadedLicense[],
  command: LicenseCommand,
): Measured | Refused | null {
  if (command.kind !== 'add_consumption' || command.licenseId !== null || entry === undefined) return null;
  const scope = answerScope(command);
  if (scope === null) return null;
  const removed = licenses.listRemoved(entry.license.product, plus(now, -ANSWER_LIFETIME_MS));
  for (const id of removed) {
    const repeated = repeatAnswer(command.idempotency, findAnswer(statements, id, scope), now);
    if (repeated !== null) return repeated;
  }
  return null;
}

function candidateOf(
  { statements, now }: ViewSource,
  { license }: LoadedLicense,
  command: LicenseCommand,
): Candidate {
  const { user } = targetOf(command);
  const registration = user === null ? null : findRegistration(statements, license.id, user);
  const scope = command.kind === 'add_consumption' ? answerScope(command) : null;
  const answer = scope === null ? null : findAnswer(statements, license.id, scope);
  return {
    license,
    holdsSlot: registration !== null && isLive(registration, now),
    hasAnswered: answer !== null && isRemembered(answer, now),
  };
}
