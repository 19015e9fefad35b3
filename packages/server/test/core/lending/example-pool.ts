import type { LicenseCommand } from '../../../src/core/command.ts';
import { decidePool } from '../../../src/core/lending/decide-pool.ts';
import { type License, licenseId } from '../../../src/core/nouns/license.ts';
import { isLive } from '../../../src/core/nouns/registration.ts';
import type { Rules } from '../../../src/core/rules/rules.ts';
import { exampleLicense, exampleView, NOW, type ViewFacts } from '../examples.ts';

/** One license of a pool, for tests; say only what matters. */
export interface Member extends ViewFacts {
  readonly id: number;
  readonly facts?: Partial<License>;
  /** It is the one that this key was answered on. */
  readonly hasAnswered?: boolean;
}

/** What was decided on which license. `asked`: whose views were looked at. */
export function decideOn(command: LicenseCommand, members: readonly Member[], rules?: Rules) {
  const user = 'user' in command ? command.user : null;
  const asked: number[] = [];
  const known = members.map(({ id, facts, hasAnswered = false, ...view }) => {
    const license = exampleLicense({ id: licenseId(id), ...facts });
    const own = view.slots?.find((slot) => slot.user === user);
    const holdsSlot = own !== undefined && isLive(own, NOW);
    return { candidate: { license, holdsSlot, hasAnswered }, view: { license, ...view } };
  });
  const { answer, others } = decidePool(
    command,
    {
      candidates: known.map(({ candidate }) => candidate),
      viewOf(license) {
        asked.push(license.id);
        const one = known.find(({ candidate }) => candidate.license === license);
        return exampleView({ ...one?.view, ...(rules === undefined ? {} : { rules }) }, user);
      },
    },
    NOW,
  );
  return { on: answer.licenseId, ...answer.decision, others, asked };
}

/** The license that does not refuse. */
export function answering(command: LicenseCommand, members: readonly Member[]): number {
  const { on, outcome } = decideOn(command, members);
  if (outcome.kind === 'refused') throw new Error(`refused: ${JSON.stringify(outcome)}`);
  return on;
}

export function refused(command: LicenseCommand, members: readonly Member[], rules?: Rules) {
  const decided = decideOn(command, members, rules);
  const { outcome } = decided;
  if (outcome.kind !== 'refused') throw new Error(`not refused: ${JSON.stringify(outcome)}`);
  return { ...decided, outcome };
}
