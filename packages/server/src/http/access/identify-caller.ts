import { RequestError } from '@berth/protocol/request-error';
import type { Peer, RequestHead } from '@berth/web/http-request';
import { isPerson } from '../../core/access/person.ts';
import { includesRole } from '../../core/access/role.ts';
import { isOfAccountForPeople } from '../../core/access/second-factor.ts';
import type { Accounts } from '../../services/access/accounts.ts';
import type { Holder } from '../../services/access/tokens.ts';
import { ACCESS, type Access, isChanging, type Route } from '../route.ts';
import type { AuthSettings, Caller } from './caller.ts';
import { isOnMachine, whyNotFromHere, whyNotLocal } from './local-caller.ts';
import { readSessionToken, requireOwnPage } from './session.ts';

/** A request with everything needed to identify the caller. */
interface Visit {
  readonly route: Route;
  readonly request: RequestHead;
  readonly peer: Peer;
  readonly auth: AuthSettings;
  readonly accounts: Accounts;
  /** `false`: only a permission check, which does not extend the session. */
  readonly isUse: boolean;
}

/**
 * Identifies the caller; throws if they may not use the route. Sent credentials always decide. The answer is
 * there at once if nobody has to be identified.
 */
export function identifyCaller(visit: Visit): Caller | Promise<Caller> {
  const { route, peer, auth } = visit;
  if (route.access === 'public') return nobody(peer);
  if (peer.isControl) {
    const control = { kind: 'control', name: 'control', role: 'admin', actor: 'control' } as const;
    return requireOwnAccount(route, { ...nobody(peer), ...control });
  }
  // Most requests, so without another call.
  if (route.access === 'client' && auth.clients === 'open') return nobody(peer);
  return isOpen(route, auth) ? nobody(peer) : requireRole(visit);
}

/** Whether nobody has to be identified. */
function isOpen({ access }: Route, auth: AuthSettings): boolean {
  if (access === 'monitor') return auth.metrics === 'open';
  return access === 'public' || (access === 'client' && auth.clients === 'open');
}

/** Whether a caller that was identified may use another route, too. */
export function mayUse({ role, products, holder }: Caller, route: Route, auth: AuthSettings): boolean {
  if (isOpen(route, auth)) return true;
  if (products !== null && route.isForProducts !== true) return false;
  if (route.mustConfirm === true && holder?.kind === 'api') return false;
  if (whyNotOwn(route, holder) !== null) return false;
  if (comesLater(route, findFirstStep(holder, auth))) return false;
  return role !== null && includesRole(role, ACCESS[route.access].role);
}

async function requireRole(visit: Visit): Promise<Caller> {
  const { route, request, peer, auth } = visit;
  const { role } = ACCESS[route.access as Exclude<Access, 'public'>];
  const caller = await findCaller(visit);
  const { holder } = caller;
  if (auth.localAccounts === 'emergency' && isForPeople(holder) && !isOnMachine(request, peer))
    throw onlyOnMachine();
  const first = findFirstStep(holder, auth);
  if (first !== null && comesLater(route, first)) throw new RequestError('forbidden', FIRST_STEPS[first]);
  if (caller.role === null || !includesRole(caller.role, role)) {
    throw new RequestError(
      'forbidden',
      `This requires role "${role}", but "${caller.name}" has role "${caller.role}".`,
    );
  }
  if (caller.products !== null && route.isForProducts !== true) throw notForProducts(caller);
  return requireOwnAccount(route, caller);
}

function notForProducts({ name, products }: Caller): RequestError {
  return new RequestError(
    'forbidden',
    `This concerns the whole server, but "${name}" is limited to products: ${products?.join(', ')}. Ask an ` +
      'administrator.',
  );
}

function nobody({ address }: Peer): Caller {
  return {
    kind: 'anyone',
    name: 'client',
    role: null,
    products: null,
    address,
    holder: null,
    actor: { name: 'client', address },
    credential: undefined,
  };
}

function named(peer: Peer, caller: Pick<Caller, 'kind' | 'name' | 'role'>): Caller {
  return { ...nobody(peer), ...caller, actor: { name: caller.name, address: peer.address } };
}

async function findCaller(visit: Visit): Promise<Caller> {
  const { route, request, peer, accounts } = visit;
  const authorization = request.headers.get('authorization');
  if (authorization !== null) return withToken(await findHolder(authorization, visit), peer);
  const session = readSessionToken(request, peer, visit.auth);
  if (session !== null) {
    const holder = await accounts.tokens.find(session, visit);
    if (holder === null || holder.kind !== 'session') throw tooOld();
    if (isChanging(route)) requireOwnPage(request, peer, session);
    return withToken(holder, peer);
  }
  if (ACCESS[route.access].class === 'client') return withCertificate(peer);
  if (route.access === 'monitor') return requireMonitor(visit);
  await requireLocal(visit);
  return named(peer, { kind: 'local', name: 'local', role: 'admin' });
}

function withToken(holder: Holder, peer: Peer): Caller {
  const { tokenId, role, products, account } = holder;
  const name = account ?? `token ${holder.name}`;
  const credential = account === null ? `token ${tokenId}` : `account ${account}`;
  return { ...named(peer, { kind: 'holder', name, role }), products, holder, credential };
}

function withCertificate(peer: Peer): Caller {
  if (peer.certificate == null) {
    throw new RequestError(
      'unauthorized',
      'This server requires authentication. Get a token from /auth or from the administrator, and send it ' +
        'as "Authorization: Bearer …", or use a client certificate.',
    );
  }
  const name = `certificate ${peer.certificate}`;
  return { ...named(peer, { kind: 'certificate', name, role: 'user' }), credential: name };
}

/** What a program sends if its token is not set. It gets no rights that it would have without the header. */
const WITHOUT_TOKEN = /^(?:Bearer)?\s*$/i;

/** A session is only accepted as a cookie. */
async function findHolder(authorization: string, visit: Visit): Promise<Holder> {
  if (WITHOUT_TOKEN.test(authorization)) throw noToken();
  const token = /^Bearer +([\w-]{16,256})$/i.exec(authorization)?.[1];
  const holder = token === undefined ? null : await visit.accounts.tokens.find(token, visit);
  if (holder === null || holder.kind === 'session') throw tooOld();
  return holder;
}

function isForPeople(holder: Holder | null): boolean {
  return holder !== null && isOfAccountForPeople(holder);
}

function requireOwnAccount(route: Route, caller: Caller): Caller {
  const why = whyNotOwn(route, caller.holder);
  if (why === null) return caller;
  throw new RequestError('forbidden', why);
}

const FOR_PEOPLE =
  'This is for people who have signed in to an account of this server with the role viewer, operator or ' +
  'admin.';

/** The command line and local callers have no account, and programs and applications none of a person. */
function whyNotOwn({ access }: Route, holder: Holder | null): string | null {
  if (access === 'own' && !isForPeople(holder)) return FOR_PEOPLE;
  if (access !== 'password' || holder === null) return null;
  if (holder.account !== null && !isPerson(holder.account)) return null;
  return 'You have no account on this server, and so no password to change.';
}

/** Whether a route has to wait until something else is done. */
function comesLater({ access }: Route, first: keyof typeof FIRST_STEPS | null): boolean {
  if (access === 'account' || access === 'password') return false;
  return first === 'set_password' || (first === 'set_second_factor' && access !== 'own');
}

/** What the holder of a token has to do before anything else; `null`: nothing. */
export function findFirstStep(holder: Holder | null, auth: AuthSettings): keyof typeof FIRST_STEPS | null {
  if (holder?.restriction === 'password_only') return 'set_password';
  const isMissing = holder?.recoveryCodesLeft == null && isForPeople(holder);
  return auth.secondFactor === 'required' && isMissing ? 'set_second_factor' : null;
}

const FIRST_STEPS = {
  set_password:
    'The one-time password was used a second time, so this token can only change the password. Send the ' +
    'old and the new password to POST /api/v4/setPassword as "passwordOld" and "passwordNew".',
  set_second_factor:
    'This server requires a second factor, and this account has none, so it can only set one up: on the ' +
    'page, or with POST /api/admin/second-factor/offer and /confirm. API tokens need none.',
};

function onlyOnMachine(): RequestError {
  return new RequestError(
    'unauthorized',
    "Accounts of this server work only on the server's machine itself (see the setting " +
      '"auth.localAccounts"). From here, sign in with the provider or the directory of the company.',
  );
}

function noToken(): RequestError {
  return new RequestError(
    'unauthorized',
    'The token is missing: the header "Authorization" has none. Get one from /auth or from the ' +
      'administrator, and send it as "Authorization: Bearer …".',
  );
}

function tooOld(): RequestError {
  return new RequestError('unauthorized', 'The token is unknown or expired. Get a new one from /auth.');
}

/** Without credentials, only local callers may administer the server, and only during setup. */
async function requireLocal({ request, peer, auth, accounts }: Visit): Promise<void> {
  const why = whyNotLocal(request, peer, auth) ?? (await whySetupIsOver(auth, accounts));
  if (why === null) return;
  throw new RequestError(
    'unauthorized',
    'This requires the token of an administrator. Get one from /auth, and send it as ' +
      '"Authorization: Bearer …". During setup, local callers need none, but this one does not count as ' +
      `local because ${why}.`,
  );
}

/** Monitoring reads without credentials from the same machine, after setup too, unless it needs a token. */
function requireMonitor({ request, peer, auth }: Visit): Caller {
  const why =
    auth.metrics === 'local' ? whyNotFromHere(request, peer, auth) : `"metrics.access" is "${auth.metrics}"`;
  if (why === null) return named(peer, { kind: 'local', name: 'local', role: 'user' });
  throw new RequestError(
    'unauthorized',
    'This requires a token. Get one from "berth token create" or from /auth, and send it as ' +
      `"Authorization: Bearer …". Local callers may need none, but this one does because ${why}.`,
  );
}

async function whySetupIsOver({ localAdmin }: AuthSettings, accounts: Accounts): Promise<string | null> {
  if (localAdmin === 'always' || (await accounts.isBeingSetUp())) return null;
  return 'setup is over: an administrator has set a password, or signed in with a provider or a directory';
}
