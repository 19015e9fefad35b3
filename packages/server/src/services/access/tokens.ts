import { createHash, randomBytes } from 'node:crypto';
import type { ProductLimit, Role } from '../../core/access/role.ts';
import {
  isTokenAlive,
  isTouchDue,
  type Token,
  type TokenKind,
  type TokenRestriction,
  tokenIdOf,
} from '../../core/access/token.ts';
import type { Shown } from '../../core/access-command.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import { Fault } from '../../core/nouns/fault.ts';
import { plus } from '../../core/nouns/instant.ts';
import type { TokenRecord } from '../../store/access-record.ts';
import type { Executed, Store } from '../../store/store.ts';
import { requireLimit } from './product-limit.ts';

/** An authenticated caller. */
export interface Holder {
  /** The name of the account, or of the token if it has one. */
  readonly name: string;
  readonly role: Role;
  readonly products: ProductLimit;
  readonly kind: TokenKind;
  readonly restriction: TokenRestriction | null;
  /** How many recovery codes the account has left; `null`: it has no second factor. */
  readonly recoveryCodesLeft: number | null;
  /** `null` for a program with its own token. */
  readonly account: string | null;
  readonly tokenId: string;
  readonly tokenHash: string;
}

interface NewToken {
  readonly name: string;
  readonly role: Role;
  /** Missing: not limited. */
  readonly products?: readonly string[] | undefined;
  /** `null` if it does not expire. */
  readonly days: number | null;
  /** The caller's credentials. */
  readonly shown?: Shown;
}

interface CreatedToken {
  readonly id: string;
  readonly token: string;
  /** As stored; `null` if it was rejected. */
  readonly kept: Token | null;
  /** Whether it was accepted. */
  readonly outcome: Executed;
}

/** Tokens of people who have signed in, and of programs. */
export interface Tokens {
  /** Using a token extends it, unless it is only looked up. */
  find(token: string, options?: { readonly isUse: boolean }): Promise<Holder | null>;
  /** Named tokens first, then the newest; includes expired ones. */
  list(limit: number): Promise<readonly TokenRecord[]>;
  /** Returns the token only here; the store keeps its hash. */
  create(wanted: NewToken, by: Actor): Promise<CreatedToken>;
  /** By its id or its name. */
  revoke(id: string, by: Actor): Promise<Executed>;
  /** Runs a change that affects tokens, and clears the cache. */
  execute(command: Parameters<Store['execute']>[0]): Promise<Executed>;
}

/** 256 random bits. */
const TOKEN_BYTES = 32;

/** On a command line, one that begins with a hyphen would be taken for an option. */
export function makeToken(): string {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  return token.startsWith('-') ? makeToken() : token;
}

/** A token is as random as a key, so a plain hash is enough. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/**
 * How long a token is cached, so that most requests need no lookup. Changes by this server take effect at
 * once; those of another server on the same database after this time.
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
    // A value read during a change may be outdated.
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
      return holderOf(found.record, tokenHash);
    },
    list: (limit) => store.read({ kind: 'list_tokens', limit }),
    async create(wanted, by) {
      const token = makeToken();
      const tokenHash = hashToken(token);
      const products = requireLimit(wanted.role, wanted.products);
      const outcome = await execute({ kind: 'create_token', tokenHash, ...wanted, products, by });
      const record = await store.read({ kind: 'find_token', tokenHash });
      return { id: tokenIdOf(tokenHash), token, kept: record?.token ?? null, outcome };
    },
    revoke: (tokenId, by) => execute({ kind: 'revoke_token', tokenId, by }),
    execute,
  };
}

function holderOf({ token, secondFactor }: TokenRecord, tokenHash: string): Holder {
  const { account, name, role, products, kind, id, restriction } = token;
  const recoveryCodesLeft = secondFactor?.recoveryCodes.length ?? null;
  const own = { name: account ?? name ?? id, role, products, kind, restriction, recoveryCodesLeft };
  return { ...own, account, tokenId: id, tokenHash };
}

/** An administrator can still read when the disk fails; the use of the token is recorded later. */
function ignoreFault(error: unknown): void {
  if (!(error instanceof Fault)) throw error;
}
