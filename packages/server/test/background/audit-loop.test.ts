import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { openTestStore, readEvents } from '../../../../test/support/test-app.ts';
import { testLicense } from '../../../../test/support/test-license.ts';
import { createHeadSigner } from '../../src/background/housekeeping-loops.ts';
import { HOUR_MS } from '../../src/core/nouns/instant.ts';
import { type AuditTrail, createAuditTrail } from '../../src/services/audit/audit-trail.ts';

test('the heads of the audit log are signed every hour', async (t) => {
  const { store } = await openTestStore(t, [testLicense(1)]);
  const audit = createAuditTrail(store);
  const signed = Promise.withResolvers<void>();
  const watched: AuditTrail = { ...audit, signHeads: () => audit.signHeads().then(signed.resolve) };
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const signer = createHeadSigner(watched, pino({ level: 'silent' }));
  signer.start();
  t.mock.timers.tick(HOUR_MS - 1);
  assert.equal((await readEvents(store)).at(-1)?.kind, 'license_added');
  t.mock.timers.tick(1);
  await signed.promise;
  await signer.stop();
  assert.equal((await readEvents(store)).at(-1)?.kind, 'heads_signed');
});
