import { Hono } from 'hono';
import { Fault } from '../core/nouns/fault.ts';
import type { Accounts } from '../services/access/accounts.ts';
import type { Log } from '../telemetry/log.ts';
import type { RequestCounts } from '../telemetry/metrics/request-counts.ts';
import type { AuthSettings, Peer } from './access/caller.ts';
import { identifyCaller } from './access/identify-caller.ts';
import { requireTlsIfAsked } from './access/session.ts';
import { admitPage, answerPreflight, type WebPageRules, withCors } from './access/web-page.ts';
import { readInput } from './read-input.ts';
import { errorReply, problem } from './reply/problem.ts';
import { type Reply, toResponse } from './reply/reply.ts';
import { createRequestLog, type RequestLog } from './request-log.ts';
import { ACCESS, isChanging, type Route } from './route.ts';
import { type AdmitClient, createClientRate } from './sockets/client-rate.ts';

interface AppOptions {
  readonly routes: readonly Route[];
  readonly accounts: Accounts;
  readonly auth: AuthSettings;
  readonly pages: WebPageRules;
  readonly log: Log;
  readonly requests: RequestCounts;
  readonly logRequests: boolean;
  readonly slowRequestMs: number;
  /** Per client address; 0: no limit. */
  readonly clientRequestsPerMinute: number;
  /** A monotonic clock in milliseconds. */
  readonly readMonotonicMs: () => number;
}

/** Facts about the connection; tests pass them directly. */
export type AppEnv = { Bindings: { readonly peer: Peer } };

/** The whole HTTP API as a function from request to response, without a socket. */
export function createApp(options: AppOptions): Hono<AppEnv> {
  // Not strict: a trailing slash is ignored.
  const app = new Hono<AppEnv>({ strict: false });
  const requestLog = createRequestLog(options);
  const refuseUnrouted = (route: string, { address }: Peer, reply: Reply) => {
    requestLog.note({ route, address }, reply, 0);
    return toResponse(reply);
  };
  const handling = {
    ...options,
    admitClient: createClientRate({ ...options, requestsPerMinute: options.clientRequestsPerMinute }),
  };
  for (const route of options.routes) {
    if (!Object.hasOwn(ACCESS, route.access))
      throw new Error(`The route "${route.name}" declares no access.`);
    app.on(['OPTIONS', ...route.methods], [...route.paths], async (c) => {
      if (c.req.method === 'HEAD' && !takesHead(route)) {
        const reply = notAllowed('HEAD', listRoutesAt(options.routes, route.paths[0]));
        return refuseUnrouted(route.name, c.env.peer, reply);
      }
      return toResponse(await answer(route, c.req.raw, c.env.peer, handling, requestLog));
    });
  }
  app.notFound((c) =>
    refuseUnrouted('unknown', c.env.peer, nothingHere(c.req.method, c.req.path, options.routes)),
  );
  app.onError((error, c) => refuseUnrouted('unknown', c.env.peer, requestLog.noteBug('unknown', error)));
  return app;
}

interface Handling extends AppOptions {
  readonly admitClient: AdmitClient;
}

/** Identifies the caller, reads the input, runs the handler, and turns exceptions into responses. */
async function answer(
  route: Route,
  request: Request,
  peer: Peer,
  options: Handling,
  requestLog: RequestLog,
): Promise<Reply> {
  const startedMs = options.readMonotonicMs();
  const reply = await handle(route, request, peer, options).catch((error: unknown) => {
    if (error instanceof Fault) requestLog.noteFault(route.name, error);
    return errorReply(error) ?? requestLog.noteBug(route.name, error);
  });
  const logged = { route: route.name, address: peer.address };
  requestLog.note(logged, reply, options.readMonotonicMs() - startedMs);
  return withCors(reply, { route, request, pages: options.pages });
}

async function handle(route: Route, request: Request, peer: Peer, options: Handling): Promise<Reply> {
  const { auth, accounts, pages } = options;
  if (request.method === 'OPTIONS')
    return (await answerPreflight({ route, request, peer, pages })) ?? optionsOf(route, options.routes);
  await admitPage({ route, request, peer, pages });
  if (ACCESS[route.access].class === 'client') options.admitClient(peer);
  if (route.takesPassword === true) requireTlsIfAsked(peer, auth);
  const visit = { route, request, peer, auth, accounts, isUse: true };
  const caller = await identifyCaller(visit);
  const { query, body, hasBody } = await readInput(route, request);
  // A body may arrive slowly, and the credentials may be revoked meanwhile.
  if (hasBody && ACCESS[route.access].class === 'admin') await identifyCaller(visit);
  const isStillAllowed = () =>
    identifyCaller({ ...visit, isUse: false }).then(
      () => true,
      () => false,
    );
  return route.handle({ request, caller, peer, isStillAllowed, query, body });
}

/** A HEAD must not change anything. */
function takesHead(route: Route): boolean {
  return route.methods.includes('GET') && !isChanging(route) && route.takesPassword !== true;
}

/** One path may have a route that reads and one that changes. */
function listRoutesAt(routes: readonly Route[], path: string): readonly Route[] {
  return routes.filter(({ paths }) => paths.includes(path));
}

function allowHeader(routes: readonly Route[]): Readonly<Record<string, string>> {
  const head = routes.some(takesHead) ? ['HEAD'] : [];
  return { Allow: [...listMethods(routes), ...head, 'OPTIONS'].join(', ') };
}

function listMethods(routes: readonly Route[]): readonly string[] {
  return routes.flatMap(({ methods }) => methods);
}

/** Answers OPTIONS with the methods of a path. */
function optionsOf({ paths }: Route, routes: readonly Route[]): Reply {
  return { status: 204, body: null, type: 'text', headers: allowHeader(listRoutesAt(routes, paths[0])) };
}

function notAllowed(method: string, routes: readonly Route[]): Reply {
  const message = `This path does not support ${method}. Use ${listMethods(routes).join(', ')}.`;
  return { ...problem('method_not_allowed', message), headers: allowHeader(routes) };
}

/** Unknown paths, other versions of the API and wrong methods: always JSON, as clients expect. */
function nothingHere(method: string, path: string, routes: readonly Route[]): Reply {
  const here = listRoutesAt(routes, path);
  if (here.length > 0) return notAllowed(method, here);
  const version = /^\/api\/(v\d+)(\/|$)/.exec(path)?.[1];
  if (version !== undefined && version !== 'v4') {
    return problem(
      'not_found',
      `This server supports only version 4 of the API, under /api/v4, not ${version}.`,
    );
  }
  return problem('not_found', 'There is nothing at this path. /api/v4/docs lists the paths.');
}
