import { parseAddress } from '@berth/protocol/address-range';
import { quote } from '@berth/protocol/quote';
import { RequestError } from '@berth/protocol/request-error';
import type { HeaderFields, Peer, RequestHead } from '@berth/web/http-request';
import type { Reply } from '@berth/web/reply';
import { normalizeName, type OwnNames } from '../../services/access/own-names.ts';
import { ACCESS, type Route } from '../route.ts';
import { ownOriginOf } from './session.ts';

/**
 * Rules for web pages. A browser sends requests for any open page, so a foreign page can reach every server
 * that the browser can reach. Headers that pages cannot change reveal it: `Origin` and `Sec-Fetch-Site`
 * identify the page, `Host` is the name under which the browser knows the server. Programs do not send the
 * first two and are not affected.
 */
export interface WebPageRules {
  /** Origins whose pages may use the client API, in addition to the server's own. */
  readonly allowedOrigins: readonly string[];
  readonly ownNames: OwnNames;
}

interface PageRequest {
  readonly route: Route;
  readonly request: RequestHead;
  readonly peer: Peer;
  readonly pages: WebPageRules;
}

/**
 * Throws if the request comes from a page that may not send it, or uses a foreign host name. `true` at once
 * if it comes from a program.
 */
export function admitPage(visit: PageRequest): true | Promise<void> {
  const { route, request, peer } = visit;
  // A page under a rebound name could guess passwords, in the place and at the address of its visitor.
  const isPublic = ACCESS[route.access].class === 'public' && route.takesPassword !== true;
  return isPublic || peer.isControl || !isFromBrowser(request.headers) ? true : admitBrowser(visit);
}

async function admitBrowser(visit: PageRequest): Promise<void> {
  const { route, request, pages } = visit;
  await requireOwnName(request.headers.get('host') ?? '', pages);
  if (ACCESS[route.access].class === 'client') requireAllowedOrigin(visit);
}

/**
 * Browsers from before 2023 send neither header with a same-origin GET, but all of them identify as Gecko.
 * `Mozilla/5.0` alone is also common among programs.
 */
function isFromBrowser(headers: HeaderFields): boolean {
  if (headers.get('origin') !== null || headers.get('sec-fetch-site') !== null) return true;
  return headers.get('user-agent')?.includes('Gecko') === true;
}

async function requireOwnName(host: string, { ownNames }: WebPageRules): Promise<void> {
  const name = nameIn(host);
  // Only the owner of an address can serve a page with its origin.
  if (parseAddress(name) !== null || (await ownNames.isOwn(name))) return;
  throw new RequestError(
    'host_not_allowed',
    `Browsers may not use this server under the name ${quote(name)}. If it is a name of this server, an ` +
      'administrator can add it to the setting "http.allowedHosts".',
    { setting: 'http.allowedHosts' },
  );
}

/** Without the port and the brackets of IPv6. */
function nameIn(host: string): string {
  if (host.startsWith('[')) return host.slice(1, Math.max(1, host.indexOf(']')));
  return normalizeName(host.split(':', 1)[0] as string);
}

function requireAllowedOrigin({ request, peer, pages }: Omit<PageRequest, 'route'>): void {
  const origin = request.headers.get('origin');
  const site = request.headers.get('sec-fetch-site');
  if (site === 'same-origin' || origin === ownOriginOf(request, peer)) return;
  if (origin !== null && pages.allowedOrigins.includes(origin)) return;
  const isReading = request.method === 'GET' || request.method === 'HEAD';
  // Typed into the address bar, or an old browser, which sends no Origin when it only reads.
  if (origin === null && (site === null || (site === 'none' && isReading))) return;
  throw new RequestError(
    'origin_not_allowed',
    origin === null || origin === 'null'
      ? 'This request comes from a web page without an origin. Pages may use this server with "fetch" once ' +
          'an administrator has added their origin to the setting "http.allowedOrigins".'
      : `Pages of ${quote(origin)} may not use this server unless an administrator adds that origin to the ` +
          'setting "http.allowedOrigins".',
    { setting: 'http.allowedOrigins' },
  );
}

/** Lets pages of an allowed origin read responses, including refusals. Never with cookies. */
export function withCors(reply: Reply, { route, request, pages }: Omit<PageRequest, 'peer'>): Reply {
  if (pages.allowedOrigins.length === 0 || ACCESS[route.access].class === 'admin') return reply;
  const origin = request.headers.get('origin');
  if (origin === null || !pages.allowedOrigins.includes(origin)) return reply;
  return { ...reply, headers: { ...reply.headers, ...corsHeaders(origin, reply.headers) } };
}

function corsHeaders(origin: string, headers: Reply['headers'] = {}): Record<string, string> {
  const isApplied = 'Preference-Applied' in headers;
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Expose-Headers': isApplied ? 'Retry-After, Preference-Applied' : 'Retry-After',
    Vary: 'Origin',
  };
}

/** How long browsers may cache the preflight reply. */
const PREFLIGHT_SECONDS = 600;

/**
 * Answers a CORS preflight. `null` if the request is not a preflight, or is for an admin route, which foreign
 * pages may never use.
 */
export async function answerPreflight(visit: PageRequest): Promise<Reply | null> {
  const { route, request, pages } = visit;
  const { headers } = request;
  const origin = headers.get('origin');
  const isPreflight = origin !== null && headers.get('access-control-request-method') !== null;
  if (!isPreflight || ACCESS[route.access].class === 'admin') return null;
  await requireOwnName(headers.get('host') ?? '', pages);
  requireAllowedOrigin(visit);
  const isPrivate = headers.get('access-control-request-private-network') === 'true';
  return {
    status: 204,
    body: null,
    type: 'text',
    headers: {
      ...corsHeaders(origin),
      'Access-Control-Allow-Methods': route.methods.join(', '),
      'Access-Control-Allow-Headers': 'authorization, content-type, idempotency-key, prefer',
      'Access-Control-Max-Age': String(PREFLIGHT_SECONDS),
      // Chromium requires this before public pages may reach a private address.
      ...(isPrivate ? { 'Access-Control-Allow-Private-Network': 'true' } : {}),
    },
  };
}
