import type { LicenseCommand } from '../../core/command.ts';
import type { LicenseId } from '../../core/nouns/license.ts';
import type { Store } from '../../store/store.ts';

/** Executes one command per license. Returns the sum of the results. */
export async function executeOnEachLicense(
  store: Store,
  commandFor: (licenseId: LicenseId) => LicenseCommand,
): Promise<number> {
  const records = await store.read({ kind: 'list_licenses', product: null });
  const outcomes = await Promise.all(records.map(({ license }) => store.execute(commandFor(license.id))));
  return outcomes.reduce((sum, outcome) => sum + (outcome.kind === 'done' ? outcome.count : 0), 0);
}
