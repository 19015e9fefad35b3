import assert from 'node:assert/strict';
import type { Instant } from '@berth/server/core/nouns/instant';
import type { LicenseId } from '@berth/server/core/nouns/license';
import type { Registration } from '@berth/server/core/nouns/registration';
import type { RegistrationRecord } from '@berth/server/store/query';
import type { CountingModel } from './counting-model.ts';
import type { Listed } from './history-command.ts';

/** Who holds a slot until when, as the lists tell it; and never more than there are. */
export function expectSameSlots(model: CountingModel, { licenses, slots }: Listed, before: Listed): void {
  for (const { id, facts, holders } of model.licenses) {
    const listed = slotsOf(slots, id);
    const record = licenses.find(({ license }) => license.id === id);
    assert.equal(record?.now, model.now, 'one time');
    assert.equal(record?.inUse, holders.size, 'the number in use');
    // Who waited may have been served in the same step, before the license shrank.
    const slotsBefore = before.licenses.find(({ license }) => license.id === id)?.license.slots ?? 0;
    expectWithinLimit(listed, slotsOf(before.slots, id), Math.max(facts.slots, slotsBefore));
    for (const { endsAt } of listed) assert.ok(endsAt > model.now, 'free at its time');
    assert.deepEqual(
      listed.map(({ user, endsAt, borrowedUntil, programs, origin, host, countedAt }) => {
        const at = { hostname: host.hostname, address: origin };
        return { user, endsAt, borrowedUntil, programs: namesOf(programs), at, counted: countedAt ?? at };
      }),
      [...holders].map(([user, held]) => ({ user, ...held })).sort((a, b) => (a.user < b.user ? -1 : 1)),
    );
  }
}

/** Programs as they are stored: a line for each. */
function namesOf(programs: Registration['programs']): Set<string> {
  return new Set(programs === null ? [''] : programs.split('\n').slice(0, -1));
}

function slotsOf(records: readonly RegistrationRecord[], id: LicenseId): readonly Registration[] {
  return records.filter((record) => record.licenseId === id).map(({ registration }) => registration);
}

/** Never more than the limit; where it has shrunk below its use, nobody new. */
function expectWithinLimit(
  listed: readonly Registration[],
  before: readonly Registration[],
  limit: number,
): void {
  if (listed.length <= limit) return;
  const known = new Set(before.map(({ user }) => user));
  const added = listed.filter(({ user }) => !known.has(user));
  assert.deepEqual(added, [], 'nobody new above the limit');
}

/** Whoever is gone had reached the end that was promised. */
export function expectNobodyFreedEarly({ slots }: Listed, before: Listed, now: Instant): void {
  const left = new Set(slots.map(nameOf));
  const early = before.slots.filter(
    (record) => !left.has(nameOf(record)) && record.registration.endsAt > now,
  );
  assert.deepEqual(early, [], 'freed before its time');
}

function nameOf({ licenseId, registration }: RegistrationRecord): string {
  return `${registration.user} on ${licenseId}`;
}
