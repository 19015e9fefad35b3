import { createHash, randomBytes } from 'node:crypto';
import { isTokenAlive } from '../core/decide-system.ts';
import { Fault } from '../core/fault.ts';
import type { Store } from '../store/store.ts';
import { checkPassword, hashPassword, makeUpPassword } from './passwords.ts';

/** The name of the administrator that the first start creates. */
export const FIRST_ADMINISTRATOR = 'admin';

/** Someone who has shown who they are. */
export interface Account {
  readonly name: string;
  readonly role: 'admin';
}

export interface Accounts {
  /**
   * Creates the administrator if there is none. The one-time password is shown before it is stored: one
   * that was shown and not stored does no harm, one that was stored and not shown locks everybody out.
   */
  ensureAdministrator(show: (password: string) => void): Promise<void>;
  /** A new token, or `null` for a wrong name or password: the same answer in the same time. */
  signIn(name: string, password: string, address: string): Promise<string | null>;
  findByToken(token: string): Promise<Account | null>;
  /** No administrator has replaced the password that the server made up. */
  isBeingSetUp(): Promise<boolean>;
}

export function createAccounts(store: Store): Accounts {
  return {
    ensureAdministrator: (show) => ensureAdministrator(store, show),
    signIn: (name, password, address) => signIn(store, name, password, address),
    findByToken: (token) => findByToken(store, token),
    async isBeingSetUp() {
      const account = await store.read({ kind: 'find_account', name: FIRST_ADMINISTRATOR });
      return account?.oneTime ?? true;
    },
  };
}

async function ensureAdministrator(store: Store, show: (password: string) => void): Promise<void> {
  const existing = await store.read({ kind: 'find_account', name: FIRST_ADMINISTRATOR });
  if (existing !== null) return;
  const password = makeUpPassword();
  show(password);
  await store.execute({
    kind: 'create_account',
    name: FIRST_ADMINISTRATOR,
    role: 'admin',
    passwordHash: await hashPassword(password),
    oneTime: true,
    by: 'server',
  });
}

/** 256 random bits. */
const TOKEN_BYTES = 32;

async function signIn(store: Store, name: string, password: string, address: string): Promise<string | null> {
  const account = await store.read({ kind: 'find_account', name });
  const isRight = await checkPassword(password, account?.passwordHash ?? null);
  const token = isRight ? randomBytes(TOKEN_BYTES).toString('base64url') : null;
  const tokenHash = token === null ? null : hashToken(token);
  await store.execute({ kind: 'sign_in', account: name, address, tokenHash });
  return token;
}

/** A token is as random as a key, so a plain hash is enough to keep it. */
function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

async function findByToken(store: Store, token: string): Promise<Account | null> {
  const tokenHash = hashToken(token);
  const record = await store.read({ kind: 'find_token', tokenHash });
  if (record === null || !isTokenAlive(record.usedAt, record.now)) return null;
  await store.execute({ kind: 'use_token', tokenHash }).catch(ignoreFault);
  return { name: record.account, role: record.role };
}

/** An administrator can look at a server whose disk fails; that the token was used is told another time. */
function ignoreFault(error: unknown): void {
  if (!(error instanceof Fault)) throw error;
}
