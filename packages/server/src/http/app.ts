import type { AnswerRoute, App } from '@berth/web/app';
import type { HttpRequest, Peer } from '@berth/web/http-request';
import { type InputRules, readInput } from '@berth/web/read-input';
import type { Reply } from '@berth/web/reply';
import { createRouter, describeMethods, type Router, refuseMethod } from '@berth/web/router';
import { isSameLimit } from '../core/access/role.ts';
import { Fault } from '../core/nouns/fault.ts';
import type { Accounts } from '../services/access/accounts.ts';
import type { AuthSettings } from './access/caller.ts';
import { type AdmitClient, createClientRate, type RateOptions } from './access/client-rate.ts';
import { identifyCaller } from './access/identify-caller.ts';
import { requireTlsIfAsked } from './access/session.ts';
import { admitPage, answerPreflight, type WebPageRules, withCors } from './access/web-page.ts';
import { createWorkPlaces, type WorkPlaces } from './access/work-places.ts';
import { errorReply, problem } from './reply/problem.ts';
import { createRequestLog, type RequestLog, type RequestLogOptions } from './request-log.ts';
import { ACCESS, inputOf, type Route, type RouteInput } from './route.ts';

interface AppOptions extends RequestLogOptions, RateOptions {
  readonly routes: readonly Route[];
  /** The same routes, on nothing but these products. */
  readonly listRoutesFor: (products: readonly string[]) => ReadonlyMap<string, Route>;
  readonly accounts: Accounts;
  readonly auth: AuthSettings;
  readonly pages: WebPageRules;
}

/** The whole HTTP API as a function from request to reply, without a socket. */
export function createApp(options: AppOptions): App {
  const requestLog = createRequestLog(options);
  const router = createRouter(options.routes);
  const handling = {
    ...options,
    router,
    admitClient: createClientRate(options),
    workPlaces: createWorkPlaces(),
  };
  const answerRoute = (route: Route): AnswerRoute => {
    if (!Object.hasOwn(ACCESS, route.access))
      throw new Error(`The route "${route.name}" declares no access.`);
    const called = { route, onPost: inputOf(route, 'POST'), onGet: inputOf(route, 'GET') };
    return (request, peer) => answer(called, request, peer, handling, requestLog);
  };
  const answers = new Map(options.routes.map((route) => [route, answerRoute(route)]));
  const plain = options.routes.filter(isPlain);
  const plainAnswers = new Map(
    plain.flatMap((route) => route.paths.map((path) => [path, answers.get(route)])),
  );
  const refuse = (route: string, { address }: Peer, reply: Reply) => {
    requestLog.note({ route, address }, reply, 0);
    return reply;
  };
  return {
    async answer(request, peer) {
      const { path, here, route, isAllowed } = router.find(request);
      if (here.length === 0) return refuse('unknown', peer, nothingHere(path));
      if (!isAllowed) return refuse(route?.name ?? 'unknown', peer, refuseMethod(request.method, here));
      return (answers.get(route as Route) as AnswerRoute)(request, peer);
    },
    findPlain: (path) => plainAnswers.get(path),
    refuse: problem,
  };
}

/** The routes that clients call all day. */
function isPlain({ access, methods, body, holdsFile, takesPassword }: Route): boolean {
  const isLending = ACCESS[access].class === 'client' && body !== undefined && takesPassword !== true;
  return isLending && methods.every((method) => method === 'POST') && holdsFile !== true;
}

interface CalledRoute {
  readonly route: Route;
  /** What its requests may contain, by method. */
  readonly onPost: InputRules;
  readonly onGet: InputRules;
}

interface Handling extends AppOptions {
  readonly admitClient: AdmitClient;
  readonly router: Router<Route>;
  readonly workPlaces: WorkPlaces;
}

/** Identifies the caller, reads the input, runs the handler, and turns exceptions into responses. */
async function answer(
  called: CalledRoute,
  request: HttpRequest,
  peer: Peer,
  options: Handling,
  requestLog: RequestLog,
): Promise<Reply> {
  const { route } = called;
  const startedMs = options.readMonotonicMs();
  const reply = await handle(called, request, peer, options).catch((error: unknown) => {
    if (error instanceof Fault) requestLog.noteFault(route.name, error);
    return errorReply(error) ?? requestLog.noteBug(route.name, error);
  });
  const logged = { route: route.name, address: peer.address };
  // Waiting in line is not slow.
  requestLog.note(logged, reply, options.readMonotonicMs() - startedMs - (reply.waitedMs ?? 0));
  return withCors(reply, { route, request, pages: options.pages });
}

async function handle(
  { route, onPost, onGet }: CalledRoute,
  request: HttpRequest,
  peer: Peer,
  options: Handling,
): Promise<Reply> {
  const { auth, accounts, pages } = options;
  if (request.method === 'OPTIONS')
    return (
      (await answerPreflight({ route, request, peer, pages })) ??
      describeMethods(options.router.listAt(route.paths[0]))
    );
  const isAdmitted = admitPage({ route, request, peer, pages });
  if (isAdmitted !== true) await isAdmitted;
  if (ACCESS[route.access].class === 'client') options.admitClient(peer);
  if (route.takesPassword === true) requireTlsIfAsked(peer, auth);
  const visit = { route, request, peer, auth, accounts, isUse: true };
  const found = identifyCaller(visit);
  let caller = found instanceof Promise ? await found : found;
  const read = readInput(request.method === 'POST' ? onPost : onGet, request);
  const { query, body, hasBody } = read instanceof Promise ? await read : read;
  // A body may arrive slowly, and the credentials may be revoked meanwhile, or limited.
  if (hasBody && ACCESS[route.access].class === 'admin') caller = await identifyCaller(visit);
  const isStillAllowed = async () => {
    try {
      const now = await identifyCaller({ ...visit, isUse: false });
      return isSameLimit(now.products, caller.products);
    } catch {
      return false;
    }
  };
  if (route.mustConfirm !== undefined) await confirm(route, { request, peer, caller, body }, options);
  if (body.store_id !== undefined) await route.requireStore?.(body.store_id);
  const input = { request, caller, peer, isStillAllowed, query, body };
  const { products } = caller;
  const own = products === null ? route : (options.listRoutesFor(products).get(route.name) as Route);
  if (route.isLong !== true) return own.handle(input);
  return options.workPlaces.work(caller, async () => own.handle(input));
}

/** Local callers during setup and the control socket have signed in to nothing: they are on the machine. */
async function confirm(
  { name: operation, mustConfirm }: Route,
  { request, peer, caller, body }: Omit<RouteInput, 'isStillAllowed' | 'query'>,
  { auth, accounts }: AppOptions,
): Promise<void> {
  const { holder } = caller;
  if (holder === null) return;
  if (mustConfirm !== true && !(await mustConfirm?.({ body, caller }))) return;
  requireTlsIfAsked(peer, auth);
  const { own_password: password, code } = body as { own_password?: string; code?: string };
  const from = { address: peer.address, signal: request.signal };
  await accounts.confirm({ holder, operation, password, code, ...from });
}

/** Unknown paths and other versions of the API: always JSON, as clients expect. */
function nothingHere(path: string): Reply {
  const version = /^\/api\/(v\d+)(\/|$)/.exec(path)?.[1];
  if (version !== undefined && version !== 'v4') {
    return problem(
      'not_found',
      `This server supports only version 4 of the API, under /api/v4, not ${version}.`,
    );
  }
  return problem('not_found', 'There is nothing at this path. /api/v4/docs lists the paths.');
}
