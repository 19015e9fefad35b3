import type { SystemChange } from '../decision.ts';
import type { RestoreBackup } from '../system-command.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';

/**
 * The data comes from a backup. What the vendor's cloud was told after that is unknown here, so licenses from
 * a cloud must be checked before they count.
 */
export const restoreBackup = {
  ...ON_SERVER,
  scope: 'all',
  needs: () => ({ licenses: true }),

  decide({ event }, { licenses }: Pick<SystemFacts, 'licenses'>, now) {
    const changes = licenses
      .filter(({ source }) => source === 'cloud')
      .map((license): SystemChange => {
        return { kind: 'put_tie', license: { ...license, tie: { ...license.tie, restoredAt: now } } };
      });
    return { outcome: { kind: 'done', count: changes.length }, changes, events: [event] };
  },
} satisfies SystemModule<RestoreBackup>;
