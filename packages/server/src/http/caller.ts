import type { Actor } from '../core/command.ts';
import type { Role } from '../core/role.ts';
import type { Accounts } from '../services/accounts.ts';
import { RequestError } from '../services/request-error.ts';

/**
 * Who asks, and what they may do. `local`: somebody on this machine, while the server is being set up.
 * `control`: somebody who may read the data folder, which is the command line.
 */
export interface Caller {
  readonly kind: 'anyone' | 'local' | 'control' | 'account';
  /** How the audit log calls them. */
  readonly name: string;
  readonly role: Role | null;
  readonly address: string;
}

export function anyone({ address }: Peer): Caller {
  return { kind: 'anyone', name: 'client', role: null, address };
}

export function actorOf({ kind, name, address }: Caller): Actor {
  return kind === 'control' ? name : { name, address };
}

/** What is known about a request beside its bytes. */
export interface Peer {
  /** The address at the other end of the connection. */
  readonly address: string;
  /** It came over the socket in the data folder, not over the network. */
  readonly isControl: boolean;
  /** It came over TLS, to this server or to a proxy that it trusts. */
  readonly isSecure?: boolean;
  /** The name in the certificate that the client has shown, and that is trusted. */
  readonly certificate?: string | null;
}

export interface AdminRules {
  readonly localAdmin: 'setup' | 'always' | 'never';
  /** The server listens on loopback only. */
  readonly isLoopbackOnly: boolean;
}

/** The administrator behind a request; throws when there is none. Credentials that are sent decide alone. */
export async function requireAdmin(
  request: Request,
  peer: Peer,
  rules: AdminRules,
  accounts: Accounts,
): Promise<Caller> {
  if (peer.isControl) return { kind: 'control', name: 'control', role: 'admin', address: peer.address };
  const authorization = request.headers.get('authorization');
  if (authorization !== null) return requireToken(authorization, peer, accounts);
  if (isLocal(request, peer, rules) && (rules.localAdmin === 'always' || (await accounts.isBeingSetUp()))) {
    return { kind: 'local', name: 'local', role: 'admin', address: peer.address };
  }
  throw new RequestError(
    'unauthorized',
    'This needs an administrator\'s token. Get one from /auth, and send it as "Authorization: Bearer …".',
  );
}

async function requireToken(authorization: string, peer: Peer, accounts: Accounts): Promise<Caller> {
  const token = /^Bearer +([\w-]{16,256})$/i.exec(authorization)?.[1];
  const account = token === undefined ? null : await accounts.findByToken(token);
  if (account !== null) return { kind: 'account', ...account, address: peer.address };
  throw new RequestError('unauthorized', 'The token is unknown or too old. Get a new one from /auth.');
}

/**
 * Nobody but a person at this machine: a page in their browser sends Origin or Sec-Fetch headers, a name that
 * was bound to this address has another Host, and a proxy announces itself.
 */
function isLocal(request: Request, { address }: Peer, { localAdmin, isLoopbackOnly }: AdminRules): boolean {
  if (localAdmin === 'never' || !isLoopbackOnly || !LOOPBACK_ADDRESSES.has(address)) return false;
  if (!LOOPBACK_HOST.test(request.headers.get('host') ?? '')) return false;
  for (const name of request.headers.keys()) {
    if (TELLTALE_HEADERS.has(name) || /^(x-forwarded-|sec-fetch-)/.test(name)) return false;
  }
  return true;
}

const LOOPBACK_ADDRESSES = new Set(['127.0.0.1', '::1']);
const LOOPBACK_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;
const TELLTALE_HEADERS = new Set(['forwarded', 'x-real-ip', 'via', 'origin', 'cookie']);

export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_ADDRESSES.has(host) || host === 'localhost';
}
