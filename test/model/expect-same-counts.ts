import assert from 'node:assert/strict';
import type { LicenseRecord } from '@berth/server/store/query';
import { type CountingModel, highestOf } from './counting-model.ts';

/** The totals and the slots of features, as a question tells them; and no total above what is possible. */
export function expectSameCounts(model: CountingModel, records: readonly LicenseRecord[]): void {
  for (const { license, totals } of records) {
    const { id } = license;
    const [total, exported] = [model.total(id, null), model.total(id, 'export')];
    const inUse = model.featureSlots(id).size;
    assert.deepEqual(
      totals,
      {
        total,
        features: [
          { code: 'export', total: exported, inUse: 0 },
          { code: 'render', total: 0, inUse },
        ],
      },
      `what was counted at ${model.now}`,
    );
    assert.ok(total <= highestOf(null, null) && exported <= highestOf('export', null), 'above the limit');
    for (const feature of [null, 'export'] as const) {
      const { pending, reported, inFlight, accepted } = model.meter(id, feature);
      const onTheWay = [...inFlight.values()].reduce((sum, amount) => sum + amount, 0);
      assert.equal(pending + reported + onTheWay, accepted);
    }
  }
}
