import type { Config } from '../../config.ts';
import type { ProductLimit, Role } from '../../core/access/role.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import type { Holder } from '../../services/access/tokens.ts';

/**
 * The caller and their rights. `local`: a user of this machine, during setup. `control`: the command line,
 * which can read the data folder. `certificate`: a client with a client certificate.
 */
export interface Caller {
  readonly kind: 'anyone' | 'local' | 'control' | 'holder' | 'certificate';
  /** The name in the audit log. */
  readonly name: string;
  readonly role: Role | null;
  /** The products that they are limited to; see `Route.isForProducts`. */
  readonly products: ProductLimit;
  readonly address: string;
  /** The holder of the token, if the caller sent one. */
  readonly holder: Holder | null;
  /** Who asked, in commands. */
  readonly actor: Actor;
  /**
   * Identifies the caller's credentials. It is the same for all tokens of an account, because those from
   * /auth are short-lived. `undefined`: none were required.
   */
  readonly credential: string | undefined;
}

/** Counts together what a caller does, whatever they send as credentials. */
export function callerKey({ credential, kind, name, address }: Caller): string {
  return credential ?? `${kind} ${name} ${address}`;
}

/** The access settings. */
export interface AuthSettings
  extends Pick<Config['auth'], 'localAdmin' | 'clients' | 'requireTls' | 'secondFactor' | 'localAccounts'> {
  /** The server listens on loopback only, and no proxy is configured. */
  readonly isLoopbackOnly: boolean;
  /** Who may read the metrics without credentials; `token`: nobody. */
  readonly metrics: Config['metrics']['access'];
}
