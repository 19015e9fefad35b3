import type { SystemChange } from '../decision.ts';
import type { License } from '../nouns/license.ts';
import type { RestoreBackup } from '../system-command.ts';
import type { SystemFacts, SystemModule } from '../system-module.ts';

/**
 * The data comes from a backup. What the vendor's cloud was told after that is unknown here, so licenses from
 * a cloud must be checked before they count. What the replaced data knows as given back stays given back.
 */
export const restoreBackup = {
  scope: 'all',
  needs: () => ({ licenses: true }),

  decide({ event, givenBack }, { licenses }: Pick<SystemFacts, 'licenses'>, now) {
    const changes = licenses.flatMap((license): SystemChange[] => {
      const returned = givenBack.find((one) => one.id === license.id && !isNewer(license, one));
      if (returned !== undefined) return [{ kind: 'put_tie', license: returnAgain(license, returned) }];
      if (license.source !== 'cloud') return [];
      return [{ kind: 'put_tie', license: { ...license, tie: { ...license.tie, restoredAt: now } } }];
    });
    return { outcome: { kind: 'done', count: changes.length }, changes, events: [event] };
  },
} satisfies SystemModule<RestoreBackup>;

/** A license that was given back comes again only by a newer file, or a new activation at the cloud. */
function isNewer({ source, tie }: License, { tie: returned }: License): boolean {
  if (source === 'cloud') return (tie.checkedAt ?? 0) > (returned.checkedAt ?? 0);
  return (tie.fileAt ?? 0) > (returned.fileAt ?? 0);
}

/** What brought it here is known again, so that it cannot bring it back. */
function returnAgain(license: License, { tie }: License): License {
  const { fileAt, requestId, confirmationId } = tie;
  return { ...license, tie: { ...license.tie, fileAt, requestId, confirmationId, isGivenBack: true } };
}
