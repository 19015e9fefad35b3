import assert from 'node:assert/strict';
import { MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type License, licenseId } from '../../../src/core/nouns/license.ts';
import { exampleLicense, NOW, register, release } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf, users } from './exam-store.ts';

const OLDER = licenseId(1);
const NEWER = licenseId(2);
const CAD = { product: 'cad' };

/** Licenses are added and changed while slots are held. */
export const LICENSES = {
  'of two licenses the newer answers, and heartbeats stay where the slot is': async (exam: ExamStore) => {
    await exam.install({ id: OLDER });
    await exam.register('ada');
    const newer = await exam.install({ id: NEWER });
    assert.equal(grantedOf(await exam.register('ada')).license.id, OLDER);
    assert.equal(grantedOf(await exam.register('bob')).license.id, NEWER);
    await exam.install({ id: OLDER, slots: 9 });
    assert.equal(grantedOf(await exam.register('eve')).license.id, NEWER, 'a change keeps the order');
    await exam.install({ id: NEWER, enabled: false });
    assert.equal(grantedOf(await exam.register('zoe')).license.id, OLDER, 'passed over while unusable');
    assert.equal(grantedOf(await exam.register('bob')).license.id, OLDER, 'theirs cannot be renewed');
    assert.equal(await exam.countInUse(newer), 2, 'what is held there ends at its own time');
    exam.clock.advance(10 * MINUTE_MS);
    assert.equal(await exam.countInUse(newer), 0);
    const ids = (await exam.listLicenses()).map(({ license }) => license.id);
    assert.deepEqual(ids, [NEWER, OLDER]);
  },

  'fewer slots end no slot, and nothing is lent until use is within them': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 3 });
    for (const user of users(3)) await exam.register(user);
    await exam.install({ slots: 1 });
    assert.equal(grantedOf(await exam.register('user-0000')).inUse, 3);
    assert.equal(codeOf(await exam.borrow('user-0000', 'longest')), 'floating_not_available');
    for (const [user, left] of [['user-0001', 2] as const, ['user-0002', 1] as const]) {
      assert.equal(codeOf(await exam.register('eve')), 'floating_not_available');
      await exam.unregister(user);
      assert.equal(await exam.countInUse(license), left);
    }
    assert.equal(codeOf(await exam.borrow('user-0000', 'longest')), 'granted');
    assert.equal(codeOf(await exam.register('eve')), 'floating_not_available');
    await exam.install({ slots: 2 });
    assert.equal(codeOf(await exam.register('eve')), 'granted');
  },

  'a shorter validity ends every slot by then, borrowed or not': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 3 });
    await exam.register('ada');
    await exam.borrow('bob', 'longest');
    await exam.register('eve');
    const other = await exam.install({ id: licenseId(9), product: 'other' });
    await exam.register('zoe', { product: 'other' });
    const validUntil = plus(NOW, 5 * MINUTE_MS);
    await exam.install({ slots: 3, validUntil });
    for (const { endsAt } of await exam.listSlots(license.id)) assert.equal(endsAt, validUntil);
    for (const { endsAt } of await exam.listSlots(other.id)) assert.equal(endsAt, plus(NOW, 10 * MINUTE_MS));
    assert.equal((await exam.findSlot('bob'))?.borrowedUntil, validUntil);
    exam.clock.advance(5 * MINUTE_MS);
    assert.equal(await exam.countInUse(license), 0);
    assert.equal(codeOf(await exam.register('ada', CAD)), 'license_expired');
    await exam.install({ slots: 3, validUntil: null });
    assert.equal(grantedOf(await exam.register('ada', CAD)).inUse, 1);
  },

  'the store counts its licenses and the slots that are held': async (exam: ExamStore) => {
    await exam.install({ id: OLDER, slots: 3 });
    const other = await exam.install({ id: licenseId(9), product: 'other' });
    await exam.register('zoe', { product: 'other' });
    await exam.borrow('ada', 'longest', CAD);
    await exam.register('bob', CAD);
    const count = async () => {
      const { licenses, registrations } = await exam.store.read({ kind: 'describe_store' });
      return { licenses, registrations };
    };
    assert.deepEqual(await count(), { licenses: 2, registrations: 3 });
    await exam.execute({ kind: 'remove_license', licenseId: other.id, by: 'admin' });
    assert.deepEqual(await count(), { licenses: 1, registrations: 2 });
    exam.clock.advance(10 * MINUTE_MS);
    assert.deepEqual(await count(), { licenses: 1, registrations: 1 });
  },

  'the same license again is no change and no event': async (exam: ExamStore) => {
    const license = await exam.install();
    await exam.install();
    await exam.install({ slots: 9 });
    const events = await exam.listEvents(license.id);
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ['license_added', 'license_changed'],
    );
  },
};

/** What no caller should send, but what must not hurt anyone else if one does. */
function malformed(): readonly Parameters<ExamStore['execute']>[0][] {
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const broken = { ...exampleLicense({ id: licenseId(66) }), key: 10n } as unknown as License;
  return [
    register(Symbol('user') as unknown as string),
    register({ name: 'ada' } as unknown as string),
    register('host', {}, { hostname: {} as unknown as string, address: null, info: null }),
    { ...release('held'), by: 10n as unknown as string },
    { ...release('held'), by: { name: circular as unknown as string, address: 'x' } },
    { kind: 'install_license', license: broken, by: 'admin' },
    { kind: 'install_license', license: { ...exampleLicense(), key: 10n as unknown as string }, by: 'admin' },
    {
      kind: 'sign_in',
      account: 'ada',
      address: 10n as unknown as string,
      tokenHash: null,
      checkedHash: null,
    },
    { kind: 'sign_in', account: 10n as unknown as string, address: 'x', tokenHash: 'half', checkedHash: 'x' },
    null as unknown as Parameters<ExamStore['execute']>[0],
  ];
}

export const ISOLATION = {
  'a command that throws fails alone and leaves nothing behind': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 100 });
    await exam.register('held');
    const bad = malformed();
    const good = users(bad.length + 1).map((user) => exam.register(user));
    const failures = await Promise.allSettled(
      // Between the good ones, so that all of them share a batch.
      bad.flatMap((command, index) => [exam.execute(command), exam.register(`between-${index}`)]),
    );
    assert.deepEqual(
      failures.map(({ status }) => status),
      bad.flatMap(() => ['rejected', 'fulfilled']),
    );
    for (const outcome of await Promise.all(good)) grantedOf(outcome);
    assert.equal(exam.store.isHealthy(), true);
    assert.equal(await exam.countInUse(license), 2 * bad.length + 2);
    assert.ok(await exam.findSlot('held'));
    assert.equal((await exam.listLicenses()).length, 1);
    assert.equal(await exam.store.read({ kind: 'find_token', tokenHash: 'half' }), null);
    assert.deepEqual(await exam.listEventsOf('signed_in', 'system'), []);
  },

  'a command that throws alone in its batch leaves the store unchanged': async (exam: ExamStore) => {
    await exam.install({ slots: 3 });
    await exam.register('held');
    for (const command of malformed()) {
      await assert.rejects(exam.execute(command));
      assert.equal(grantedOf(await exam.register('ada')).inUse, 2);
    }
  },
};
