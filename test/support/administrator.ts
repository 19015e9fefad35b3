import { randomUUID } from 'node:crypto';
import { FIRST_ADMINISTRATOR } from '../../packages/server/src/services/access/accounts.ts';
import { hashPassword } from '../../packages/server/src/services/access/passwords.ts';
import type { Store } from '../../packages/server/src/store/store.ts';

/**
 * A fast password hash, because the real one is slow on purpose. Checks use the cost stored with the hash.
 */
export const PASSWORD_COST = 16;

/** Does what a first start does, which then need not hash a password. Nobody knows this one. */
export async function addAdministrator(store: Store): Promise<void> {
  const passwordHash = await hashPassword(randomUUID(), PASSWORD_COST);
  const account = { name: FIRST_ADMINISTRATOR, role: 'admin', passwordHash, oneTime: true } as const;
  await store.execute({ kind: 'create_account', ...account, by: 'server' });
}
