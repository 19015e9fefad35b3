import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer, AuditedEvent } from '../support/berth-api.ts';
import { askBerth } from '../support/berth-command.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';
import { describeStores } from '../support/stores/test-stores.ts';
import { testLicense } from '../support/test-license.ts';

function nameUsers(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `user-${index}`);
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
  test('200 users ask for 5 slots: 5 get one, and each of the others is in the audit log', async (t) => {
    const server = await ServerUnderTest.start(t, { isHere: true, licenses: [testLicense(7, { slots: 5 })] });
    const users = nameUsers(200);
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
});
