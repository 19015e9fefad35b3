import { refuseChosenId } from '../../core/nouns/chosen-id.ts';
import { moveTie } from '../../core/nouns/license.ts';
import type { Done, Refused } from '../../core/outcome.ts';
import type { BindHardware } from '../../core/system-command.ts';
import { eventText } from './audit/audit-chain.ts';
import type { Batch } from './execute-command.ts';

/**
 * The server has started, on the machine it knows or on another one. Licenses that were activated for another
 * hardware id remember since when they are away from it; those that are back at home forget that.
 */
export function bindHardware(batch: Batch, { hardwareId, isChosen }: BindHardware): Done | Refused {
  const { statements, shelf, now } = batch;
  const licenses = [...shelf.entries()].map(({ license }) => license);
  const refusal = isChosen === true ? refuseChosenId(licenses, hardwareId) : null;
  if (refusal !== null) return refusal;
  const before = (statements.getServer.get()?.hardware_id as string | null | undefined) ?? null;
  const hasMoved = before !== null && before !== hardwareId;
  if (hasMoved) {
    batch.systemEvents.push(eventText({ kind: 'identity_changed', before, hardwareId }));
  }
  if (before !== hardwareId) {
    statements.saveHardwareId.run(hardwareId);
    batch.isChanged = true;
  }
  for (const entry of shelf.entries()) {
    const license = moveTie(entry.license, hardwareId, now);
    if (license === entry.license) continue;
    statements.updateFacts.run(JSON.stringify(license), license.id);
    shelf.replaceLicense(entry, license);
    batch.isChanged = true;
  }
  return { kind: 'done', count: hasMoved ? 1 : 0 };
}
