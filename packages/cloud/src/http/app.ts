import type { KeyObject } from 'node:crypto';
import { Hono } from 'hono';
import type { Clock } from '../clock.ts';
import type { CloudStore } from '../store/cloud-store.ts';
import type { KeyRing, SigningKeys } from '../store/keys/key-ring.ts';
import { authorize } from './authorize.ts';
import { type Asked, bindReply, noteAsked, noteContent } from './bind-reply.ts';
import { createGuessLimit } from './limits/guess-limit.ts';
import type { Log } from './log.ts';
import { BUG, findProblem, type Problem, problem } from './problem.ts';
import type { Reply } from './reply.ts';
import type { Context, Route } from './route.ts';
import { ROUTES } from './routes.ts';
import { signReply } from './sign-reply.ts';

interface AppOptions {
  readonly store: CloudStore;
  readonly keyRing: KeyRing;
  readonly airgapKey: KeyObject;
  readonly clock: Clock;
  readonly log: Log;
}

/** The peer of the connection; without a connection there is no client address. */
export interface AppEnv {
  readonly Bindings: { readonly place?: string };
}

/** The whole HTTP API as a function from request to response, without a socket. */
export function createApp(options: AppOptions): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  const limitGuesses = createGuessLimit(options.clock.readMonotonicMs);
  for (const route of ROUTES) {
    // Separate limits: a client that guesses in the portal does not slow down a server at the same address.
    const callers = route.needsKeys ? 'keys' : 'portal';
    app.on(route.method, route.path, (c) =>
      answer(route, options, c.req.raw, (now, asked, signingKeys) => {
        const place = c.env?.place ?? '';
        const limit = (work: () => Reply | Promise<Reply>) => limitGuesses(`${callers} ${place}`, work);
        return handle(route, c.req.raw, { ...options, signingKeys, now, asked, place, limitGuesses: limit });
      }),
    );
  }
  app.notFound((c) => answer(NO_ROUTE, options, c.req.raw, () => nothingHere(c.req.method, c.req.path)));
  app.onError((error, c) => answer(NO_ROUTE, options, c.req.raw, () => Promise.reject(error)));
  return app;
}

const NO_ROUTE = { name: 'unknown' };

/** Reads bodies first, so that a slow client does not delay others from the same address. */
async function handle(route: Route, request: Request, context: Context): Promise<Reply> {
  if (!route.needsKeys) return route.handle(request, context);
  const caller = authorize(context.store, request.headers, context.now);
  const noted = await noteContent(request, context.asked);
  return context.limitGuesses(() => route.handle(noted, { ...context, caller }));
}

type Work = (now: number, asked: Asked, signingKeys: SigningKeys) => Reply | Promise<Reply>;
type Answering = Pick<Route, 'name' | 'explain'>;

/** Uses one time for the whole request and turns every exception into a response. */
async function answer(
  route: Answering,
  options: AppOptions,
  request: Request,
  work: Work,
): Promise<Response> {
  const { keyRing, clock, log } = options;
  const startedMs = clock.readMonotonicMs();
  const now = clock.readWallMs();
  const asked = noteAsked(request.headers);
  // One set of keys for the whole request, too: what is signed in an answer fits the answer.
  const signingKeys = keyRing.read();
  const reply = await attempt(route, log, () => work(now, asked, signingKeys));
  const { status, bytes, headers } = signReply(bindReply(reply, asked), signingKeys.current, now);
  const ms = Math.round(clock.readMonotonicMs() - startedMs);
  const code = reply.code === undefined ? {} : { code: reply.code };
  log.write('info', 'request', { route: route.name, status, ...code, ms });
  return new Response(bytes, { status, headers });
}

async function attempt(route: Answering, log: Log, work: () => Reply | Promise<Reply>): Promise<Reply> {
  const explain = route.explain ?? sayInJson;
  try {
    return await work();
  } catch (error) {
    const found = findProblem(error);
    const reply = explain(found ?? BUG);
    if (reply.status < 500) return reply;
    const detail = describe(error);
    log.write('error', found === null ? 'bug' : 'request failed', { route: route.name, detail });
    return reply;
  }
}

function sayInJson({ code, message, details }: Problem): Reply {
  return problem(code, message, details);
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function nothingHere(method: string, path: string): Reply {
  const methods = ROUTES.filter((one) => one.path === path).map((one) => one.method);
  if (methods.length === 0)
    return problem('not_found', 'There is nothing at this path. The API is under /api/v4/.');
  const allowed = methods.join(', ');
  const reply = problem('method_not_allowed', `This path does not support ${method}. Use ${allowed}.`);
  return { ...reply, headers: { Allow: allowed } };
}
