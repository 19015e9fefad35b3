import type { Config } from '../../config.ts';
import type { Role } from '../../core/access/role.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import type { Holder } from '../../services/access/tokens.ts';

/**
 * The caller and what they may do. `local`: a user of this machine, during setup. `control`: the command
 * line, which can read the data folder. `certificate`: a client with a client certificate.
 */
export interface Caller {
  readonly kind: 'anyone' | 'local' | 'control' | 'holder' | 'certificate';
  /** The name in the audit log. */
  readonly name: string;
  readonly role: Role | null;
  readonly address: string;
  /** What they have shown, where that was a token. */
  readonly holder: Holder | null;
}

export function actorOf({ kind, name, address }: Caller): Actor {
  return kind === 'control' ? name : { name, address };
}

/**
 * A name for what the caller has shown, the same for all tokens of an account: those from /auth come and go.
 * `undefined`: nothing was asked for.
 */
export function credentialOf({ kind, name, holder }: Caller): string | undefined {
  if (kind === 'certificate') return name;
  if (holder === null) return undefined;
  return holder.account === null ? `token ${holder.tokenId}` : `account ${holder.account}`;
}

/** The connection of a request. */
export interface Peer {
  /** The address at the other end of the connection. */
  readonly address: string;
  /** It came over the socket in the data folder, not over the network. */
  readonly isControl: boolean;
  /** It came over TLS, to this server or to a proxy that it trusts. */
  readonly isSecure?: boolean;
  /** The name in the certificate that the client has shown, and that is trusted. */
  readonly certificate?: string | null;
  /** It is HTTP/1.0, which proxies speak to servers and hardly anybody else does. */
  readonly isHttp10?: boolean;
}

/** The settings of who may come in. */
export interface AuthSettings extends Pick<Config['auth'], 'localAdmin' | 'clients' | 'requireTls'> {
  /** The server listens on loopback only, and no proxy is known to bring others there. */
  readonly isLoopbackOnly: boolean;
}
