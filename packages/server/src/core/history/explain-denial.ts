import { ERRORS, type ErrorCode } from '@berth/protocol/errors';
import { type Instant, say } from '../nouns/instant.ts';

/** The facts of a denial, or of several that were recorded together. */
interface DenialFacts {
  readonly reason: ErrorCode;
  /** The rule that refused; empty: none did. */
  readonly rule: string;
  readonly product: string;
  readonly feature: string | null;
  /** These four are of the first denial; `null`: unknown. */
  readonly slots: number | null;
  readonly inUse: number | null;
  readonly borrowed: number | null;
  readonly nextFreeAt: Instant | null;
}

/** Says why the request was denied, in a sentence. */
export function explainDenial(facts: DenialFacts): string {
  const { reason, rule, slots } = facts;
  if (rule !== '') return `A rule for ${nameOf(facts)} refused it: ${rule}.`;
  if (reason === 'floating_not_available' && slots !== null) return explainFull(facts, slots);
  // The history may have codes of another version.
  const denial = ERRORS[reason]?.denial ?? `It was refused: ${reason}.`;
  return denial.replace('{what}', () => nameOf(facts));
}

function nameOf({ product, feature }: DenialFacts): string {
  return feature === null ? `"${product}"` : `"${feature}" of "${product}"`;
}

function explainFull(facts: DenialFacts, slots: number): string {
  const { inUse, borrowed, nextFreeAt } = facts;
  const name = nameOf(facts);
  const all =
    slots === 1 ? `The only slot of ${name} was in use` : `All ${slots} slots of ${name} were in use`;
  const by = inUse === null || borrowed === null || borrowed === 0 ? '' : `: ${splitUse(inUse, borrowed)}`;
  const next = nextFreeAt === null ? '' : ` The next one was due to be free at ${say(nextFreeAt)}.`;
  return `${all}${by}.${next}`;
}

function splitUse(inUse: number, borrowed: number): string {
  return borrowed >= inUse ? 'all borrowed' : `${inUse - borrowed} by users, ${borrowed} borrowed`;
}
