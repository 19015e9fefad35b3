import { includesRole, type Role } from '../../core/access/role.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import type { Accounts } from '../../services/access/accounts.ts';
import type { Holder } from '../../services/access/tokens.ts';
import { RequestError } from '../../services/request-error.ts';
import { ACCESS, isChanging, type Route } from '../route.ts';
import { type LocalRules, whyNotLocal } from './local-caller.ts';
import { readSessionToken, requireOwnPage } from './session.ts';

/**
 * Who asks, and what they may do. `local`: somebody on this machine, while the server is being set up.
 * `control`: somebody who may read the data folder, which is the command line. `certificate`: somebody who
 * has shown a client certificate.
 */
export interface Caller {
  readonly kind: 'anyone' | 'local' | 'control' | 'holder' | 'certificate';
  /** How the audit log calls them. */
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
  /** It is HTTP/1.0, which proxies speak to servers and hardly anybody else does. */
  readonly isHttp10?: boolean;
}

export interface AccessRules extends LocalRules {
  /** Whether applications have to show who they are. */
  readonly clients: 'open' | 'required';
  /** Nobody is signed in over a connection that others can read. */
  readonly requireTls: boolean;
}

/** One request, and what is needed to find out who sent it. */
export interface Visit {
  readonly route: Route;
  readonly request: Request;
  readonly peer: Peer;
  readonly rules: AccessRules;
  readonly accounts: Accounts;
  /** `false`: only whether they might ask; that keeps nothing alive. */
  readonly isUse: boolean;
}

/** Who is behind a request; throws when the route is not for them. Credentials that are sent decide alone. */
export async function identifyCaller(visit: Visit): Promise<Caller> {
  const { route, peer, rules } = visit;
  const { class: kind, role } = ACCESS[route.access];
  if (kind === 'public') return nobody(peer);
  if (peer.isControl) return { ...nobody(peer), kind: 'control', name: 'control', role: 'admin' };
  if (kind === 'client' && rules.clients === 'open') return nobody(peer);
  const caller = await findCaller(visit);
  if (caller.holder?.restriction === 'password_only' && route.access !== 'account') throw passwordFirst();
  if (caller.role !== null && includesRole(caller.role, role)) return caller;
  throw new RequestError(
    'forbidden',
    `This takes the role "${role}", and "${caller.name}" has the role "${caller.role}".`,
  );
}

function nobody({ address }: Peer): Caller {
  return { kind: 'anyone', name: 'client', role: null, address, holder: null };
}

async function findCaller(visit: Visit): Promise<Caller> {
  const { route, request, peer, accounts } = visit;
  const authorization = request.headers.get('authorization');
  if (authorization !== null) return withToken(await findHolder(authorization, visit), peer);
  const session = readSessionToken(request, peer, visit.rules);
  if (session !== null) {
    const holder = await accounts.tokens.find(session, visit);
    if (holder === null || holder.kind !== 'session') throw tooOld();
    if (isChanging(route)) requireOwnPage(request, peer, session);
    return withToken(holder, peer);
  }
  if (ACCESS[route.access].class === 'client') return withCertificate(peer);
  await requireLocal(visit);
  return { ...nobody(peer), kind: 'local', name: 'local', role: 'admin' };
}

function withToken(holder: Holder, peer: Peer): Caller {
  const { name, role, account } = holder;
  return { ...nobody(peer), kind: 'holder', name: account ?? `token ${name}`, role, holder };
}

function withCertificate(peer: Peer): Caller {
  if (peer.certificate == null) {
    throw new RequestError(
      'unauthorized',
      'This server wants to know its clients. Get a token from /auth or from the administrator, and send ' +
        'it as "Authorization: Bearer …", or show a client certificate.',
    );
  }
  return { ...nobody(peer), kind: 'certificate', name: `certificate ${peer.certificate}`, role: 'user' };
}

/** A session counts only where browsers send it by themselves. */
async function findHolder(authorization: string, visit: Visit): Promise<Holder> {
  const token = /^Bearer +([\w-]{16,256})$/i.exec(authorization)?.[1];
  const holder = token === undefined ? null : await visit.accounts.tokens.find(token, visit);
  if (holder === null || holder.kind === 'session') throw tooOld();
  return holder;
}

function passwordFirst(): RequestError {
  return new RequestError(
    'forbidden',
    'This was signed in with a one-time password for the second time: it can only replace that password. ' +
      'Send both to POST /api/v4/setPassword as "passwordOld" and "passwordNew".',
  );
}

function tooOld(): RequestError {
  return new RequestError('unauthorized', 'The token is unknown or too old. Get a new one from /auth.');
}

/** Without credentials, only a caller on this machine administrates, and only until the server is set up. */
async function requireLocal({ request, peer, rules, accounts }: Visit): Promise<void> {
  const why = whyNotLocal(request.headers, peer, rules) ?? (await whySetupIsOver(rules, accounts));
  if (why === null) return;
  throw new RequestError(
    'unauthorized',
    'This needs an administrator\'s token. Get one from /auth, and send it as "Authorization: Bearer …". ' +
      `During setup a local caller needs none, but this request does not count as local because ${why}.`,
  );
}

async function whySetupIsOver({ localAdmin }: AccessRules, accounts: Accounts): Promise<string | null> {
  if (localAdmin === 'always' || (await accounts.isBeingSetUp())) return null;
  return 'setup is over: an administrator has a password of their own';
}
