import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer, AuditedEvent } from '../support/berth-api.ts';
import { askBerth } from '../support/berth-command.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';
import { describeStores } from '../support/stores/test-stores.ts';
import { testLicense } from '../support/test-license.ts';

function nameUsers(count: number, prefix = 'user'): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}

/** All at once: none waits for the answer to another. */
function registerAll(server: ServerUnderTest, product: string, users: readonly string[]): Promise<Answer[]> {
  return Promise.all(users.map((user) => server.api.register({ product, user, os_hostname: 'desk' })));
}

function readAudit(server: ServerUnderTest, licenseId: number): Promise<{ events: AuditedEvent[] }> {
  const words = ['audit', 'list', '--limit', '5000', '--license-id', String(licenseId)];
  return askBerth(server.data, words);
}

function usersOf(events: readonly AuditedEvent[], kind: string): unknown[] {
  return events
    .filter((event) => event.kind === kind)
    .map(({ user }) => user)
    .sort();
}

interface Crowd {
  readonly slots: number;
  readonly users: readonly string[];
  readonly answers: readonly Answer[];
}

/** As many have a slot as there are slots; everyone else hears why not, and when to try again. */
function assertShared({ slots, users, answers }: Crowd): { granted: string[]; denied: string[] } {
  const granted = users.filter((_, index) => answers[index]?.status === 200);
  const denied = users.filter((_, index) => answers[index]?.status === 400);
  assert.equal(granted.length, slots);
  assert.equal(denied.length, users.length - slots);
  for (const { status, body } of answers.filter((answer) => answer.status !== 200)) {
    assert.equal(status, 400);
    assert.equal(body.code, 'floating_not_available');
    assert.equal(body.slots, slots);
    assert.equal(body.in_use, slots);
    assert.match(String(body.next_free_at), /^\d{4}-.*Z$/);
  }
  return { granted: granted.sort(), denied: denied.sort() };
}

describeStores('many users at once', () => {
  test('500 users ask for 5 slots: 5 get one, and each of the others is in the audit log', async (t) => {
    const server = await ServerUnderTest.start(t, { isHere: true, licenses: [testLicense(7, { slots: 5 })] });
    const users = nameUsers(500);
    const answers = await registerAll(server, 'cad', users);
    const { granted, denied } = assertShared({ slots: 5, users, answers });
    const holders = await server.api.holders();
    assert.deepEqual(holders.map(({ user }) => user).sort(), granted);
    const [firstEnd] = holders.map(({ ends_at }) => ends_at).sort();
    const told = answers.filter(({ status }) => status === 400).map(({ body }) => body.next_free_at);
    assert.deepEqual(new Set(told), new Set([firstEnd]));
    const { events } = await readAudit(server, 7);
    assert.deepEqual(usersOf(events, 'slot_lent'), granted);
    assert.deepEqual(usersOf(events, 'slot_denied'), denied);
  });

  test('the same on 20 licenses at once: no license affects another', async (t) => {
    const ids = Array.from({ length: 20 }, (_, index) => index + 1);
    const licenses = ids.map((id) => testLicense(id, { product: `tool-${id}`, slots: 5 }));
    const server = await ServerUnderTest.start(t, { isHere: true, licenses });
    const users = nameUsers(40);
    const all = await Promise.all(ids.map((id) => registerAll(server, `tool-${id}`, users)));
    const events = await server.api.eventsAfter(0);
    for (const [index, id] of ids.entries()) {
      const { granted, denied } = assertShared({ slots: 5, users, answers: all[index] ?? [] });
      const own = events.filter((event) => event.license_id === id);
      assert.deepEqual(usersOf(own, 'slot_lent'), granted);
      assert.deepEqual(usersOf(own, 'slot_denied'), denied);
    }
    const records = await server.api.licenses();
    assert.deepEqual(new Set(records.map((license) => license.floating_in_use)), new Set([5]));
  });
});

describeStores('one user', () => {
  test('registering 300 times at once from changing addresses takes one slot', async (t) => {
    const server = await ServerUnderTest.start(t, { isHere: true, licenses: [testLicense(7, { slots: 5 })] });
    const addresses = Array.from({ length: 300 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
    const answers = await Promise.all(
      addresses.map((ip_local) => server.api.register({ product: 'cad', user: 'ada', ip_local })),
    );
    for (const { status, body } of answers) {
      assert.equal(status, 200);
      assert.equal(body.id, 7);
      assert.equal(body.floating_in_use, 1);
    }
    const holders = await server.api.holders();
    assert.deepEqual(
      holders.map(({ user }) => user),
      ['ada'],
    );
    assert.ok(addresses.includes(holders[0]?.ip_local ?? ''));
    const { events } = await readAudit(server, 7);
    assert.deepEqual(usersOf(events, 'slot_lent'), ['ada']);
  });

  test('stays on the license with the slot, when the product has two', async (t) => {
    const licenses = [testLicense(1, { slots: 1 }), testLicense(2, { slots: 1 })];
    const { api } = await ServerUnderTest.start(t, { isHere: true, licenses });
    const register = async (user: string, extra = {}) =>
      (await api.register({ product: 'cad', user, ...extra })).body;
    assert.equal((await register('ada', { license_id: 1 })).id, 1, 'the license that was asked for');
    assert.equal((await register('ada')).id, 1, 'a heartbeat stays');
    assert.equal((await register('bob')).id, 2, 'without a slot: the one added last');
    assert.equal((await register('bob')).id, 2, 'a heartbeat stays');
    const cyd = await register('cyd');
    assert.equal(cyd.code, 'floating_not_available', 'both are full');
    assert.equal((await api.holders()).length, 2);
    assert.equal((await api.unregister({ product: 'cad', user: 'ada' })).text, 'user_unregistered');
    assert.equal((await register('cyd', { license_id: 2 })).code, 'floating_not_available', 'that one alone');
    assert.equal((await register('cyd')).id, 1, 'the one added last is full: the other one steps in');
  });
});
