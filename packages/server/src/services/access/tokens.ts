import { createHash, randomBytes } from 'node:crypto';
import type { Role } from '../../core/access/role.ts';
import {
  isTokenAlive,
  isTouchDue,
  type Token,
  type TokenKind,
  type TokenRestriction,
  tokenIdOf,
} from '../../core/access/token.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import { Fault } from '../../core/nouns/fault.ts';
import { plus } from '../../core/nouns/instant.ts';
import type { Shown } from '../../core/system-command.ts';
import type { TokenRecord } from '../../store/query.ts';
import type { Executed, Store } from '../../store/store.ts';

/** Somebody who has shown who they are. */
export interface Holder {
  /** The name of the account, or of the token where it has one of its own. */
  readonly name: string;
  readonly role: Role;
  readonly kind: TokenKind;
  readonly restriction: TokenRestriction | null;
  /** `null`: a program with a token of its own. */
  readonly account: string | null;
  readonly tokenId: string;
  readonly tokenHash: string;
}

interface TokenWish {
  readonly name: string;
  readonly role: Role;
  /** `null`: until it is revoked. */
  readonly days: number | null;
  /** What whoever asks has shown. */
  readonly shown?: Shown;
}

interface CreatedToken {
  readonly id: string;
  readonly token: string;
  /** As it is kept; `null`: it was not taken. */
  readonly kept: Token | null;
  /** Whether it was taken. */
  readonly outcome: Executed;
}

/** What stands for people and programs after they have shown who they are. */
export interface Tokens {
  /** Using it keeps it alive, unless it is only looked at. */
  find(token: string, options?: { readonly isUse: boolean }): Promise<Holder | null>;
  /** Those with a name first, then the newest; those that ended included. */
  list(limit: number): Promise<readonly TokenRecord[]>;
  /** The token is told only now; the store keeps its hash. */
  create(wish: TokenWish, by: Actor): Promise<CreatedToken>;
  /** By its id or its name. */
  revoke(id: string, by: Actor): Promise<Executed>;
  /** Does what decides whether tokens count, and looks at all of them anew. */
  execute(command: Parameters<Store['execute']>[0]): Promise<Executed>;
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
 * A token that was looked up counts for this long without another look, so that most requests cost none. What
 * this server changes counts at once; what another server on the same database changes, after this.
 */
const REMEMBERED_MS = 1000;
const MAX_REMEMBERED = 10_000;

interface Remembered {
  readonly record: TokenRecord;
  readonly readMs: number;
}

export function createTokens(store: Store, readMonotonicMs: () => number): Tokens {
  const remembered = new Map<string, Remembered>();
  let generation = 0;
  const forget = () => {
    remembered.clear();
    generation += 1;
  };

  async function lookUp(tokenHash: string): Promise<Remembered | null> {
    const known = remembered.get(tokenHash);
    if (known !== undefined && readMonotonicMs() - known.readMs < REMEMBERED_MS) return known;
    const asked = { readMs: readMonotonicMs(), generation };
    const record = await store.read({ kind: 'find_token', tokenHash });
    if (record === null) return null;
    const found = { record, readMs: asked.readMs };
    // What was read while something changed may be what was there before.
    if (asked.generation === generation) remember(tokenHash, found);
    return found;
  }

  function remember(tokenHash: string, found: Remembered): void {
    remembered.delete(tokenHash);
    remembered.set(tokenHash, found);
    if (remembered.size > MAX_REMEMBERED) remembered.delete(remembered.keys().next().value as string);
  }

  async function execute(command: Parameters<Store['execute']>[0]): Promise<Executed> {
    try {
      return await store.execute(command);
    } finally {
      forget();
    }
  }

  return {
    async find(token, { isUse } = { isUse: true }) {
      const tokenHash = hashToken(token);
      const found = await lookUp(tokenHash);
      if (found === null) return null;
      const now = plus(found.record.now, readMonotonicMs() - found.readMs);
      if (!isTokenAlive(found.record.token, now)) return null;
      if (isUse && isTouchDue(found.record.token, now)) {
        await store.execute({ kind: 'use_token', tokenHash }).catch(ignoreFault);
        remembered.delete(tokenHash);
      }
      return holderOf(found.record.token, tokenHash);
    },
    list: (limit) => store.read({ kind: 'list_tokens', limit }),
    async create(wish, by) {
      const token = makeToken();
      const tokenHash = hashToken(token);
      const outcome = await execute({ kind: 'create_token', tokenHash, ...wish, by });
      const record = await store.read({ kind: 'find_token', tokenHash });
      return { id: tokenIdOf(tokenHash), token, kept: record?.token ?? null, outcome };
    },
    revoke: (tokenId, by) => execute({ kind: 'revoke_token', tokenId, by }),
    execute,
  };
}

function holderOf({ account, name, role, kind, id, restriction }: Token, tokenHash: string): Holder {
  return { name: account ?? name ?? id, role, kind, restriction, account, tokenId: id, tokenHash };
}

/** An administrator can look at a server whose disk fails; that the token was used is told another time. */
function ignoreFault(error: unknown): void {
  if (!(error instanceof Fault)) throw error;
}
