import type { Peer, RequestHead } from '@berth/web/http-request';
import type { AuthSettings } from './caller.ts';

interface Sender {
  readonly address: string;
  readonly isHttp10?: boolean;
}

/** Why a request does not have the rights of local callers, as the rest of a sentence; `null` if it has. */
export function whyNotLocal(request: RequestHead, sender: Sender, auth: AuthSettings): string | null {
  if (auth.localAdmin === 'never') return '"auth.localAdmin" is "never"';
  return whyNotFromHere(request, sender, auth);
}

/**
 * Why a request does not come from a user or program on this machine, as the rest of a sentence; `null` if it
 * does. Web pages send headers that programs do not send.
 */
export function whyNotFromHere(
  request: RequestHead,
  sender: Sender,
  auth: Pick<AuthSettings, 'isLoopbackOnly'>,
): string | null {
  if (!auth.isLoopbackOnly) {
    return 'other machines can reach this server (see the settings "host" and "http.trustedProxies")';
  }
  const why = whyNotOnMachine(request, sender);
  if (why !== null) return why;
  for (const [written, value] of request.headers) {
    if (isOfBrowser(written.replaceAll('_', '-'), value)) {
      return `it has the header "${written}", which browsers send`;
    }
  }
  return null;
}

/** Whether whoever sent it, with a browser or without, is at this machine, and not behind a proxy on it. */
export function isOnMachine(request: RequestHead, peer: Peer): boolean {
  return peer.isControl || whyNotOnMachine(request, peer) === null;
}

/**
 * DNS rebinding shows in the Host header, and proxies add headers or use HTTP/1.0. Many programs take `_` in
 * the name of a header for `-`.
 */
function whyNotOnMachine({ headers, targetHost }: RequestHead, sender: Sender): string | null {
  if (!LOOPBACK_ADDRESSES.has(sender.address)) return 'it does not come from 127.0.0.1 or ::1';
  if (!LOOPBACK_HOST.test(headers.get('host') ?? '')) {
    return 'its Host header is not localhost, 127.0.0.1 or [::1]';
  }
  if (targetHost !== undefined && !LOOPBACK_HOST.test(targetHost)) {
    return 'the host in its URL is not localhost, 127.0.0.1 or [::1]';
  }
  if (sender.isHttp10 === true) return 'it is HTTP/1.0, which proxies send';
  for (const [written] of headers) {
    if (isOfProxy(written.replaceAll('_', '-'))) return `it has the header "${written}", which proxies send`;
  }
  return null;
}

const LOOPBACK_ADDRESSES = new Set(['127.0.0.1', '::1']);
const LOOPBACK_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;

export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_ADDRESSES.has(host) || host === 'localhost';
}

/** Headers that proxies, load balancers, tunnels and CDNs add to forwarded requests. */
const PROXY_HEADERS = new Set([
  'via',
  'client-ip',
  'true-client-ip',
  'x-real-ip',
  'x-client-ip',
  'x-remote-ip',
  'x-remote-addr',
  'x-cluster-client-ip',
  'x-originating-ip',
  'x-proxyuser-ip',
  'x-scheme',
  'x-forward-for',
  'x-varnish',
  'cdn-loop',
  'surrogate-capability',
  'x-nginx-proxy',
  'x-bluecoat-via',
  'x-cloud-trace-context',
  'front-end-https',
  'max-forwards',
]);
const PROXY_PREFIX = /^(?:x-)?(?:forwarded|original-|proxy-|envoy-|arr-|ngrok-|tailscale-)/;
const CLOUD_PREFIX = /^(?:x-)?(?:cf-|fastly-|akamai-|azure-|amzn-|amz-cf-|appengine-|fly-|vercel-)/;

function isOfProxy(name: string): boolean {
  return PROXY_HEADERS.has(name) || PROXY_PREFIX.test(name) || CLOUD_PREFIX.test(name);
}

const BROWSER_HEADERS = new Set([
  'origin',
  'referer',
  'cookie',
  'dnt',
  'upgrade-insecure-requests',
  'sec-fetch-site',
  'sec-fetch-dest',
  'sec-fetch-user',
  'sec-gpc',
  'sec-purpose',
]);

/** Node's `fetch` sends `Sec-Fetch-Mode: cors` and `Accept-Language: *`; PowerShell calls itself Mozilla. */
function isOfBrowser(name: string, value: string): boolean {
  if (name === 'accept-language') return value.trim() !== '*';
  if (name === 'sec-fetch-mode') return value !== 'cors';
  if (name === 'user-agent') return /mozilla/i.test(value) && !value.includes('PowerShell/');
  return BROWSER_HEADERS.has(name) || name.startsWith('sec-ch-');
}
