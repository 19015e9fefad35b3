import { Fault } from '../core/nouns/fault.ts';
import type { Accounts } from '../services/access/accounts.ts';
import type { Log } from '../telemetry/log.ts';
import type { RequestCounts } from '../telemetry/metrics/request-counts.ts';
import type { AuthSettings, Peer } from './access/caller.ts';
import { identifyCaller } from './access/identify-caller.ts';
import { requireTlsIfAsked } from './access/session.ts';
import { admitPage, answerPreflight, type WebPageRules, withCors } from './access/web-page.ts';
import type { HttpRequest } from './http-request.ts';
import { readInput } from './read-input.ts';
import { errorReply, problem } from './reply/problem.ts';
import type { Reply } from './reply/reply.ts';
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

/** Answers requests of one route. It never fails. */
export type AnswerRoute = (request: HttpRequest, peer: Peer) => Promise<Reply>;

/** The whole HTTP API as a function from request to reply, without a socket. */
export interface App {
  answer(request: HttpRequest, peer: Peer): Promise<Reply>;
  /** The route of a path, if the fast lane may read its requests. */
  findPlain(path: string): AnswerRoute | undefined;
}

export function createApp(options: AppOptions): App {
  const requestLog = createRequestLog(options);
  const handling = {
    ...options,
    admitClient: createClientRate({ ...options, requestsPerMinute: options.clientRequestsPerMinute }),
  };
  const answerRoute = (route: Route): AnswerRoute => {
    if (!Object.hasOwn(ACCESS, route.access))
      throw new Error(`The route "${route.name}" declares no access.`);
    return (request, peer) => answer(route, request, peer, handling, requestLog);
  };
  const answers = new Map(options.routes.map((route) => [route, answerRoute(route)]));
  const byPath = Map.groupBy(
    options.routes.flatMap((route) => route.paths.map((path) => ({ path, route }))),
    ({ path }) => path,
  );
  const refuse = (route: string, { address }: Peer, reply: Reply) => {
    requestLog.note({ route, address }, reply, 0);
    return reply;
  };
  return {
    async answer(request, peer) {
      const { method } = request;
      const path = pathOf(request);
      const here = (byPath.get(path) ?? []).map(({ route }) => route);
      const route = here.find(({ methods }) => includesMethod(methods, method));
      if (route === undefined) return refuse('unknown', peer, nothingHere(method, path, here));
      if (method === 'HEAD' && !takesHead(route)) return refuse(route.name, peer, notAllowed(method, here));
      return (answers.get(route) as AnswerRoute)(request, peer);
    },
    findPlain(path) {
      const [first] = byPath.get(path) ?? [];
      return first !== undefined && isPlain(first.route) ? answers.get(first.route) : undefined;
    },
  };
}

/** Decoded, and without a trailing slash. */
function pathOf({ url }: HttpRequest): string {
  const path = url.split(/[?#]/, 1)[0] as string;
  const decoded = path.includes('%') ? decode(path) : path;
  return decoded.length > 1 && decoded.endsWith('/') ? decoded.slice(0, -1) : decoded;
}

function decode(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

function includesMethod(methods: Route['methods'], method: string): boolean {
  if (method === 'OPTIONS') return true;
  return methods.some((one) => one === (method === 'HEAD' ? 'GET' : method));
}

/** The routes that clients call all day. */
function isPlain({ access, methods, body, holdsFile, takesPassword }: Route): boolean {
  const isLending = ACCESS[access].class === 'client' && body !== undefined && takesPassword !== true;
  return isLending && methods.every((method) => method === 'POST') && holdsFile !== true;
}

interface Handling extends AppOptions {
  readonly admitClient: AdmitClient;
}

/** Identifies the caller, reads the input, runs the handler, and turns exceptions into responses. */
async function answer(
  route: Route,
  request: HttpRequest,
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

async function handle(route: Route, request: HttpRequest, peer: Peer, options: Handling): Promise<Reply> {
  const { auth, accounts, pages } = options;
  if (request.method === 'OPTIONS')
    return (await answerPreflight({ route, request, peer, pages })) ?? optionsOf(route, options.routes);
  const isAdmitted = admitPage({ route, request, peer, pages });
  if (isAdmitted !== true) await isAdmitted;
  if (ACCESS[route.access].class === 'client') options.admitClient(peer);
  if (route.takesPassword === true) requireTlsIfAsked(peer, auth);
  const visit = { route, request, peer, auth, accounts, isUse: true };
  const found = identifyCaller(visit);
  const caller = found instanceof Promise ? await found : found;
  const read = readInput(route, request);
  const { query, body, hasBody } = read instanceof Promise ? await read : read;
  // A body may arrive slowly, and the credentials may be revoked meanwhile.
  if (hasBody && ACCESS[route.access].class === 'admin') await identifyCaller(visit);
  const isStillAllowed = async () => {
    try {
      await identifyCaller({ ...visit, isUse: false });
      return true;
    } catch {
      return false;
    }
  };
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
function nothingHere(method: string, path: string, here: readonly Route[]): Reply {
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
