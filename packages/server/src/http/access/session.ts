import { createHash } from 'node:crypto';
import { RequestError } from '@berth/protocol/request-error';
import type { Peer, RequestHead } from '@berth/web/http-request';
import type { AuthSettings } from './caller.ts';
import { isSameText } from './same-text.ts';

/**
 * The session cookie of a browser. Over TLS, its name binds it to this host and to TLS. Browsers would drop
 * such a cookie over plain HTTP, so it has another name there, which is only accepted there.
 */
const SECURE_COOKIE = '__Host-berth';
const PLAIN_COOKIE = 'berth';

const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict';

/** The header with the CSRF token, which only our page can read. */
const CSRF_HEADER = 'x-berth-csrf';

export function sessionCookie(token: string, { isSecure }: Peer): string {
  return isSecure === true
    ? `${SECURE_COOKIE}=${token}; ${ATTRIBUTES}; Secure`
    : `${PLAIN_COOKIE}=${token}; ${ATTRIBUTES}`;
}

export function endedSessionCookie(peer: Peer): string {
  return `${sessionCookie('', peer)}; Max-Age=0`;
}

/** The token in the cookie; `null` if there is no valid one. */
export function readSessionToken(
  request: RequestHead,
  peer: Peer,
  { requireTls }: AuthSettings,
): string | null {
  const cookies = request.headers.get('cookie');
  if (cookies === null || (requireTls && peer.isSecure !== true)) return null;
  const name = peer.isSecure === true ? SECURE_COOKIE : PLAIN_COOKIE;
  const pairs = cookies.split(';').map((pair) => pair.trim());
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

const OWN_SITES = new Set(['same-origin', 'none']);

/** A password over plain HTTP can be read on the network. */
export function requireTlsIfAsked({ isSecure, isControl }: Peer, { requireTls }: AuthSettings): void {
  if (!requireTls || isSecure === true || isControl) return;
  throw new RequestError(
    'tls_required',
    'This server does not accept sign-ins over plain HTTP. Use its https address, and change the password.',
  );
}
