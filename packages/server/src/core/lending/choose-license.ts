import type { Target } from '../command.ts';
import type { Instant } from '../nouns/instant.ts';
import { isUsable, type License } from '../nouns/license.ts';
import { type Refused, refuse } from '../outcome.ts';

interface Licensed {
  readonly license: License;
}

/** The licenses that a request may be about, the most recently added first. */
interface Candidates<T extends Licensed> {
  /** How many products the server holds in all. */
  readonly products: number;
  /** Those of the product that was named, or of the only one. */
  readonly licenses: readonly T[];
}

/**
 * The licenses that a request means: the one that it names, in any state, or all of its product. Those form a
 * pool; `decide-pool.ts` says which of them answers.
 */
export function findRequestedLicenses<T extends Licensed>(
  target: Target,
  candidates: Candidates<T>,
): readonly T[] | Refused {
  const refusal = refuseTarget(target, candidates);
  if (refusal !== null) return refusal;
  if (target.licenseId === null) return candidates.licenses;
  const named = candidates.licenses.filter(({ license }) => license.id === target.licenseId);
  if (named.length > 0) return named;
  return refuse('license_not_found', `This server holds no license with the id ${target.licenseId}.`);
}

function refuseTarget(target: Target, candidates: Candidates<Licensed>): Refused | null {
  if (target.product !== null) {
    if (candidates.licenses.length > 0) return null;
    return refuse(
      'unknown_product',
      `This server holds no license of the product "${target.product}". ` +
        'Check the product code, or ask the administrator to add the license.',
    );
  }
  if (target.licenseId !== null || candidates.products === 1) return null;
  return refuse('missing_parameters', 'Name the "product": this server has several, or none.');
}

/** The newest usable license, or else the newest. */
export function newestOf<T extends Licensed>(licenses: readonly T[], now: Instant): T {
  return licenses.find(({ license }) => isUsable(license, now)) ?? (licenses[0] as T);
}
