import { type SystemChange, unchanged } from '../decision.ts';
import { type License, moveTie } from '../nouns/license.ts';
import { type Refused, refuse } from '../outcome.ts';
import type { BindHardware } from '../system-command.ts';
import type { SystemFacts, SystemModule } from '../system-module.ts';

/**
 * The server has started, on the machine it knows or on another one. Licenses that were activated for another
 * hardware id remember since when they are away from it; those that are back home forget that.
 */
export const bindHardware = {
  scope: 'all',
  needs: () => ({ licenses: true }),

  decide({ hardwareId, isChosen }, facts: Pick<SystemFacts, 'licenses' | 'hardwareId'>, now) {
    const { licenses, hardwareId: before } = facts;
    const refusal = isChosen === true ? refuseChosenId(licenses, hardwareId) : null;
    if (refusal !== null) return unchanged(refusal);
    const ties = licenses.flatMap((license): SystemChange[] => {
      const moved = moveTie(license, hardwareId, now);
      return moved === license ? [] : [{ kind: 'put_tie', license: moved }];
    });
    if (before === hardwareId) return { ...unchanged(), changes: ties };
    return {
      outcome: { kind: 'done', count: before === null ? 0 : 1 },
      changes: [{ kind: 'set_hardware_id', hardwareId }, ...ties],
      events: before === null ? [] : [{ kind: 'identity_changed', before, hardwareId }],
    };
  },
} satisfies SystemModule<BindHardware>;

/**
 * Whether the server may go by a hardware id that the administrator chose. A license that came without
 * internet is bound to the id it was activated under, and the vendor would not notice a second server with
 * that id. So the id stays as it was then: one that was chosen before is kept, one that the server had made
 * for itself is not replaced by the administrator's word, not even by the same one on another machine.
 */
function refuseChosenId(licenses: readonly License[], hardwareId: string): Refused | null {
  for (const license of licenses) {
    if (isBoundOtherwise(license, hardwareId)) return refuseFor(license, hardwareId);
  }
  return null;
}

function isBoundOtherwise({ source, tie }: License, hardwareId: string): boolean {
  if (source !== 'airgap' && source !== 'offline') return false;
  if (tie.isGivenBack || tie.hardwareId === null) return false;
  return tie.hardwareId !== hardwareId || tie.isIdChosen === false;
}

function refuseFor({ id, product, tie }: License, hardwareId: string): Refused {
  const remedy =
    tie.isIdChosen === false ? 'Start the server without hardwareId' : `Set hardwareId to ${tie.hardwareId}`;
  return refuse(
    'server_identity_changed',
    `hardwareId is set to ${hardwareId}, but the license ${id} of "${product}" was activated without ` +
      `internet under ${tie.isIdChosen === false ? 'an id that its server generated' : tie.hardwareId}. ` +
      `${remedy}, or return the license to its vendor first.`,
    { hardwareId },
  );
}
