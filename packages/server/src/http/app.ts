import { Hono } from 'hono';
import { Fault } from '../core/nouns/fault.ts';
import type { Accounts } from '../services/access/accounts.ts';
import type { Log } from '../telemetry/log.ts';
import type { RequestCounts } from '../telemetry/metrics/request-counts.ts';
import type { AuthSettings, Peer } from './access/caller.ts';
import { identifyCaller } from './access/identify-caller.ts';
import { requireTlsIfAsked } from './access/session.ts';
import { admitPage, answerPreflight, type WebPageRules, withCors } from './access/web-page.ts';
import { type Input, readInput, readPlainInput } from './read-input.ts';
import { errorReply, problem } from './reply/problem.ts';
import { type Reply, toResponse } from './reply/reply.ts';
import type { PlainHead, RequestHead } from './request-head.ts';
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

/** A route as a function from a request in the plain form to a reply. It never fails. */
export type AnswerPlain = (head: PlainHead, body: Uint8Array, peer: Peer) => Promise<Reply>;

/** The whole HTTP API as a function from request to response, without a socket. */
export interface App extends Hono<AppEnv> {
  /** The route of a path, if its requests may have the plain form. */
  findPlain(path: string): AnswerPlain | undefined;
}

export function createApp(options: AppOptions): App {
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
      return toResponse(await answer(arrivalOf(route, c.req.raw, c.env.peer), handling, requestLog));
    });
  }
  app.notFound((c) =>
    refuseUnrouted('unknown', c.env.peer, nothingHere(c.req.method, c.req.path, options.routes)),
  );
  app.onError((error, c) => refuseUnrouted('unknown', c.env.peer, requestLog.noteBug('unknown', error)));
  const plain = new Map(
    options.routes.filter(isPlain).flatMap((route) => {
      const answerPlain: AnswerPlain = (head, body, peer) =>
        answer(new PlainArrival(route, head, body, peer), handling, requestLog);
      return route.paths.map((path) => [path, answerPlain] as const);
    }),
  );
  return Object.assign(app, { findPlain: (path: string) => plain.get(path) });
}

/** The routes that clients call all day. */
function isPlain({ access, methods, body, holdsFile, takesPassword }: Route): boolean {
  const isLending = ACCESS[access].class === 'client' && body !== undefined && takesPassword !== true;
  return isLending && methods.every((method) => method === 'POST') && holdsFile !== true;
}

/** A request on its way to its route. */
interface Arrival {
  readonly route: Route;
  readonly head: RequestHead;
  readonly peer: Peer;
  readonly request: Request;
  readInput(): Input | Promise<Input>;
}

function arrivalOf(route: Route, request: Request, peer: Peer): Arrival {
  return { route, head: request, peer, request, readInput: () => readInput(route, request) };
}

class PlainArrival implements Arrival {
  readonly route: Route;
  readonly head: PlainHead;
  readonly peer: Peer;
  readonly #body: Uint8Array;

  constructor(route: Route, head: PlainHead, body: Uint8Array, peer: Peer) {
    this.route = route;
    this.head = head;
    this.peer = peer;
    this.#body = body;
  }

  get request(): Request {
    const { path, method, headers } = this.head;
    const init = { method, headers: [...headers] as [string, string][], body: new Uint8Array(this.#body) };
    return new Request(`http://${headers.get('host')}${path}`, init);
  }

  readInput(): Input {
    return readPlainInput(this.route, this.#body);
  }
}

interface Handling extends AppOptions {
  readonly admitClient: AdmitClient;
}

/** Identifies the caller, reads the input, runs the handler, and turns exceptions into responses. */
async function answer(arrival: Arrival, options: Handling, requestLog: RequestLog): Promise<Reply> {
  const { route, head, peer } = arrival;
  const startedMs = options.readMonotonicMs();
  const reply = await handle(arrival, options).catch((error: unknown) => {
    if (error instanceof Fault) requestLog.noteFault(route.name, error);
    return errorReply(error) ?? requestLog.noteBug(route.name, error);
  });
  const logged = { route: route.name, address: peer.address };
  requestLog.note(logged, reply, options.readMonotonicMs() - startedMs);
  return withCors(reply, { route, request: head, pages: options.pages });
}

async function handle(arrival: Arrival, options: Handling): Promise<Reply> {
  const { route, head: request, peer } = arrival;
  const { auth, accounts, pages } = options;
  if (request.method === 'OPTIONS')
    return (await answerPreflight({ route, request, peer, pages })) ?? optionsOf(route, options.routes);
  await admitPage({ route, request, peer, pages });
  if (ACCESS[route.access].class === 'client') options.admitClient(peer);
  if (route.takesPassword === true) requireTlsIfAsked(peer, auth);
  const visit = { route, request, peer, auth, accounts, isUse: true };
  const caller = await identifyCaller(visit);
  const { query, body, hasBody } = await arrival.readInput();
  // A body may arrive slowly, and the credentials may be revoked meanwhile.
  if (hasBody && ACCESS[route.access].class === 'admin') await identifyCaller(visit);
  const isStillAllowed = () =>
    identifyCaller({ ...visit, isUse: false }).then(
      () => true,
      () => false,
    );
  const { headers } = request;
  return route.handle({
    headers,
    get request() {
      return arrival.request;
    },
    caller,
    peer,
    isStillAllowed,
    query,
    body,
  });
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
