import { createHash } from 'node:crypto';
import { RequestError } from '@berth/protocol/request-error';
import type { Peer, RequestHead } from '@berth/web/http-request';
import type { AuthSettings } from './caller.ts';
import { isSameText } from './same-text.ts';

/**
 * The cookies of a browser. Over TLS, their names bind them to this host and to TLS. Browsers would drop such
 * cookies over plain HTTP, so they have other names there, which are only accepted there.
 */
const COOKIES = {
  session: { secure: '__Host-berth', plain: 'berth' },
  attempt: { secure: '__Host-berth-sign-in', plain: 'berth-sign-in' },
} as const;

const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict';

/** The header with the CSRF token, which only our page can read. */
const CSRF_HEADER = 'x-berth-csrf';

/** `attempt`: of a sign-in with a provider, while it is under way. */
type CookieKind = keyof typeof COOKIES;

function nameOf(kind: CookieKind, { isSecure }: Peer): string {
  return COOKIES[kind][isSecure === true ? 'secure' : 'plain'];
}

/** Without `seconds`, the browser keeps it until it is closed; with 0, it drops it. */
export function cookie(kind: CookieKind, value: string, peer: Peer, seconds?: number): string {
  const end = seconds === undefined ? '' : `; Max-Age=${seconds}`;
  return `${nameOf(kind, peer)}=${value}; ${ATTRIBUTES}${peer.isSecure === true ? '; Secure' : ''}${end}`;
}

/** The token in the cookie; `null` if there is no valid one. */
export function readSessionToken(
  request: RequestHead,
  peer: Peer,
  { requireTls }: AuthSettings,
): string | null {
  return requireTls && peer.isSecure !== true ? null : readCookie('session', request, peer);
}

export function readCookie(kind: CookieKind, request: RequestHead, peer: Peer): string | null {
  const name = nameOf(kind, peer);
  const pairs = (request.headers.get('cookie') ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? null;
}

/** Derived from the session, so only its holder can compute it. */
export function csrfTokenOf(session: string): string {
  return createHash('sha256').update(`berth csrf\n${session}`).digest('base64url');
}

/** Browsers send the cookie with requests from any page, so changes must prove that they come from ours. */
export function requireOwnPage(request: RequestHead, peer: Peer, session: string): void {
  requireSameOrigin(request, peer);
  if (isSameText(request.headers.get(CSRF_HEADER) ?? '', csrfTokenOf(session))) return;
  throw new RequestError(
    'csrf_rejected',
    `A request with a session needs the header ${CSRF_HEADER}. GET /api/admin/session returns its value.`,
  );
}

/** Another site cannot suppress these headers of a browser. */
export function requireSameOrigin(request: RequestHead, peer: Peer): void {
  const origin = request.headers.get('origin');
  const site = request.headers.get('sec-fetch-site');
  const isOther = origin !== null && origin !== ownOriginOf(request, peer);
  const isForeign = isOther || (site !== null && !OWN_SITES.has(site));
  if (isForeign) throw new RequestError('csrf_rejected', 'This request comes from another site.');
}

/** The origin of pages that were loaded from this server. */
export function ownOriginOf(request: RequestHead, { isSecure }: Peer): string {
  return `${isSecure === true ? 'https' : 'http'}://${request.headers.get('host')}`;
}

/** The provider sends browsers there: so it is a page of this server, by the name that the browser knows. */
export function requirePage(page: string, request: RequestHead, peer: Peer): string {
  const url = URL.parse(page);
  const isOwn = url?.origin === ownOriginOf(request, peer);
  if (isOwn && url.href === page && !/[?#]/.test(page)) return page;
  const message = 'Send the address of a page of this server, without a query, as "page".';
  throw new RequestError('validation_error', message, { field: 'page' });
}

const OWN_SITES = new Set(['same-origin', 'none']);

/** A password over plain HTTP can be read on the network. */
export function requireTlsIfAsked({ isSecure, isControl }: Peer, { requireTls }: AuthSettings): void {
  if (!requireTls || isSecure === true || isControl) return;
  throw new RequestError(
    'tls_required',
    'This server does not accept sign-ins over plain HTTP. Use its https address, and change the password.',
  );
}
