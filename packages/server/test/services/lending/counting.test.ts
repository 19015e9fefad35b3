import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from '../../../src/core/command.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import { createCounting } from '../../../src/services/lending/counting.ts';
import type { Store } from '../../../src/store/store.ts';

const REQUEST = {
  product: 'cad',
  licenseId: null,
  feature: null,
  user: 'Ada',
  count: 3,
  narrowing: { allowOverages: null, maxOverages: 5 },
  idempotencyKey: 'k',
};

async function hashOf(changes: object = {}): Promise<string | undefined> {
  const commands: Command[] = [];
  const store = { execute: async (command: Command) => commands.push(command) } as unknown as Store;
  await createCounting(store, () => assert.fail()).add({ ...REQUEST, ...changes });
  const [command] = commands;
  return command?.kind === 'add_consumption' ? command.idempotency?.bodyHash : undefined;
}

test('servers of other versions that share the database read the hash of a request', async () => {
  assert.equal(await hashOf(), '1:M78L5O2110v858MKQlm6FrWV0T3qxfRLFfj72Vwckzs=');
});

test('the hash of a request tells different ones apart, and not who sent it or how', async () => {
  const reordered = Object.fromEntries(Object.entries(REQUEST).reverse());
  assert.equal(await hashOf({ ...reordered, by: 'someone' }), await hashOf());
  const different = [
    {},
    { product: 'cam' },
    { licenseId: licenseId(7) },
    { feature: 'render' },
    { user: 'ada' },
    { count: 4 },
    { narrowing: { allowOverages: false, maxOverages: 5 } },
    { narrowing: { allowOverages: null, maxOverages: null } },
  ];
  assert.equal(new Set(await Promise.all(different.map(hashOf))).size, different.length);
});
