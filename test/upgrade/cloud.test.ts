import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findFreePort } from '../support/free-port.ts';
import { pollUntil } from '../support/poll.ts';
import { BERTH } from '../support/program.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { Vendor } from './make/vendor.ts';
import { unpackFolder } from './packed-folder.ts';
import { Release } from './release.ts';

for (const release of Release.list()) {
  describe(`the licensing cloud of ${release.version}`, () => {
    for (const [what, isCloudNew, isServerNew] of [
      ['is upgraded with its servers', true, true],
      ['works with servers that are newer', false, true],
      ['is upgraded before its servers', true, false],
    ] as const) {
      test(what, async (t) => {
        const old = release.unpackProgram(t);
        const data = temporaryFolder(t);
        unpackFolder(release.path('vendor.json.br'), data);
        const url = `http://127.0.0.1:${await findFreePort()}`;
        const vendor = new Vendor(isCloudNew ? BERTH : old, { data, url, env: {} });
        t.after(() => vendor.end());
        await vendor.serve();
        const site = release.unpackSite(t, 'stopped');
        site.program = isServerNew ? BERTH : old;
        site.env = { BERTH_CLOUD_URL: url };
        await site.start();
        const { licenses } = await site.demand('POST /api/admin/licenses/sync', { body: {} });
        assert.deepEqual(
          (licenses as readonly { error: unknown }[]).map(({ error }) => error ?? null),
          [null, null, null],
          JSON.stringify(licenses),
        );
        const total = (await site.get('/api/v4/license?product=meter')).total_consumptions as number;
        await pollUntil('all counts are reported', async () => {
          const sold = JSON.parse(await vendor.run('license', 'list', '--product', 'meter', '--json'));
          return JSON.stringify(sold).includes(`"total_consumptions":${total},`) || undefined;
        });
      });
    }
  });
}
