import type { Target } from './command.ts';
import { type Choice, refuse } from './decision.ts';
import type { Instant } from './instant.ts';
import { isUsable } from './license.ts';
import type { Candidate, Shelf } from './view.ts';

/**
 * Which license a request is about. A named one is meant, whatever its state. Otherwise whoever holds a
 * slot stays where it is; everybody else gets the newest license that can be used, or hears why the newest
 * cannot. A full license is not replaced by another one.
 */
export function chooseLicense(target: Target, shelf: Shelf, now: Instant): Choice {
  const refusal = refuseTarget(target, shelf);
  if (refusal !== null) return refusal;
  const candidate = preferredCandidate(target, shelf.candidates, now);
  if (candidate === undefined) {
    return refuse('license_not_found', `This server holds no license with the id ${target.licenseId}.`);
  }
  return { kind: 'chosen', licenseId: candidate.license.id };
}

function refuseTarget(target: Target, shelf: Shelf) {
  if (target.product !== null) {
    if (shelf.candidates.length > 0) return null;
    return refuse(
      'unknown_product',
      `This server holds no license of the product "${target.product}". ` +
        'Check the product code, or ask the administrator to add the license.',
    );
  }
  if (target.licenseId !== null || shelf.products === 1) return null;
  return refuse('missing_parameters', 'Say which "product" is meant: this server does not hold exactly one.');
}

function preferredCandidate(target: Target, candidates: readonly Candidate[], now: Instant) {
  if (target.licenseId !== null) return candidates.find(({ license }) => license.id === target.licenseId);
  return (
    candidates.find((candidate) => candidate.hasAnswered) ??
    candidates.find((candidate) => candidate.holdsSlot) ??
    candidates.find(({ license }) => isUsable(license, now)) ??
    candidates[0]
  );
}
