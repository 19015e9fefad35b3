import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Facts } from '../support/berth-api.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { readFacts } from './facts.ts';
import { expectKept } from './kept.ts';
import { unpackFolder } from './packed-folder.ts';
import { Release } from './release.ts';

/** A restore records itself, and leaves out by what a copy would act on what belongs to the original. */
const OF_THE_ORIGINAL = ['events', 'settings', 'channels', '/api/admin/audit/verify'];

for (const release of Release.list()) {
  const { known, answers } = release.readTaken();
  const { asked, facts } = answers.stopped;
  const kept = Object.fromEntries(Object.entries(facts).filter(([name]) => !OF_THE_ORIGINAL.includes(name)));

  describe(`a backup of ${release.version}`, () => {
    test('is restored where its master key is', async (t) => {
      const site = release.unpackSite(t, 'settings');
      const folder = temporaryFolder(t);
      unpackFolder(release.path('backups.json.br'), folder);
      await site.run(['restore', join(folder, 'plain')]);
      await site.start();
      expectKept(kept, await readFacts(site, asked));
      const { ok, thinned, problems } = await site.get('/api/admin/audit/verify');
      const before = facts['/api/admin/audit/verify'] as Facts;
      assert.deepEqual({ ok, thinned, problems }, { ok: true, thinned: before.thinned, problems: [] });
    });

    test('is restored with its passphrase alone', async (t) => {
      const site = release.unpackSite(t, 'settings');
      rmSync(join(site.data, 'master.key'));
      const folder = temporaryFolder(t);
      unpackFolder(release.path('backups.json.br'), folder);
      const passphrase = join(folder, 'passphrase');
      writeFileSync(passphrase, `${known.passphrase}\n`, { mode: 0o600 });
      await site.run(['restore', join(folder, 'with-key'), '--passphrase-file', passphrase]);
      await site.start();
      expectKept(kept, await readFacts(site, asked));
    });
  });
}
