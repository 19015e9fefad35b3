import { createHash, randomBytes } from 'node:crypto';
import type { Actor } from '../core/actor.ts';
import { Fault } from '../core/fault.ts';
import { plus } from '../core/instant.ts';
import type { Role } from '../core/role.ts';
import { isTokenAlive, isTouchDue, type Token, type TokenKind } from '../core/token.ts';
import type { TokenRecord } from '../store/query.ts';
import type { Executed, Store } from '../store/store.ts';

/** Somebody who has shown who they are. */
export interface Holder {
  /** The name of the account, or of the token where it has one of its own. */
  readonly name: string;
  readonly role: Role;
  readonly kind: TokenKind;
  /** `null`: a program with a token of its own. */
  readonly account: string | null;
  readonly tokenId: string;
  readonly tokenHash: string;
}

export interface TokenWish {
  readonly name: string;
  readonly role: Role;
  readonly days: number | null;
}

/** What stands for people and programs after they have shown who they are. */
export interface Tokens {
  find(token: string): Promise<Holder | null>;
  /** The newest first, those that ended included. */
  list(limit: number): Promise<readonly TokenRecord[]>;
  /** The token is told only now; the store keeps its hash. */
  create(wish: TokenWish, by: Actor): Promise<{ readonly token: string; readonly outcome: Executed }>;
  /** By its id or its name. */
  revoke(id: string, by: Actor): Promise<Executed>;
  /** Something was changed that decides whether a token counts. */
  forget(): void;
}

/** 256 random bits. */
const TOKEN_BYTES = 32;

export function makeToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** A token is as random as a key, so a plain hash is enough to keep it. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/**
 * A token that was looked up counts for this long without another look, so that a heartbeat costs none. What
 * this server changes counts at once; what another one changes, after this.
 */
const REMEMBERED_MS = 1000;
const MAX_REMEMBERED = 10_000;

interface Remembered {
  readonly record: TokenRecord;
  readonly readMs: number;
}

export function createTokens(store: Store, readMonotonicMs: () => number): Tokens {
  const remembered = new Map<string, Remembered>();
  const forget = () => remembered.clear();

  async function lookUp(tokenHash: string): Promise<Remembered | null> {
    const known = remembered.get(tokenHash);
    if (known !== undefined && readMonotonicMs() - known.readMs < REMEMBERED_MS) return known;
    const readMs = readMonotonicMs();
    const record = await store.read({ kind: 'find_token', tokenHash });
    if (record === null) return null;
    if (remembered.size >= MAX_REMEMBERED) forget();
    remembered.set(tokenHash, { record, readMs });
    return { record, readMs };
  }

  async function execute(command: Parameters<Store['execute']>[0]): Promise<Executed> {
    try {
      return await store.execute(command);
    } finally {
      forget();
    }
  }

  return {
    async find(token) {
      const tokenHash = hashToken(token);
      const found = await lookUp(tokenHash);
      if (found === null) return null;
      const now = plus(found.record.now, readMonotonicMs() - found.readMs);
      if (!isTokenAlive(found.record.token, now)) return null;
      if (isTouchDue(found.record.token, now)) {
        await execute({ kind: 'use_token', tokenHash }).catch(ignoreFault);
      }
      return holderOf(found.record.token, tokenHash);
    },
    list: (limit) => store.read({ kind: 'list_tokens', limit }),
    async create(wish, by) {
      const token = makeToken();
      const outcome = await execute({ kind: 'create_token', tokenHash: hashToken(token), ...wish, by });
      return { token, outcome };
    },
    revoke: (tokenId, by) => execute({ kind: 'revoke_token', tokenId, by }),
    forget,
  };
}

function holderOf({ account, name, role, kind, id }: Token, tokenHash: string): Holder {
  return { name: account ?? name ?? id, role, kind, account, tokenId: id, tokenHash };
}

/** An administrator can look at a server whose disk fails; that the token was used is told another time. */
function ignoreFault(error: unknown): void {
  if (!(error instanceof Fault)) throw error;
}
