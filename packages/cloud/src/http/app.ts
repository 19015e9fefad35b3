import type { KeyObject } from 'node:crypto';
import { Hono } from 'hono';
import type { Clock } from '../clock.ts';
import type { Shelf } from '../store/shelf.ts';
import { authorize } from './authorize.ts';
import type { Log } from './log.ts';
import { bugReply, errorReply, problem } from './problem.ts';
import type { Reply } from './reply.ts';
import { ROUTES, type Route } from './routes.ts';
import { signReply } from './sign-reply.ts';

export interface AppOptions {
  readonly shelf: Shelf;
  readonly signingKey: KeyObject;
  readonly clock: Clock;
  readonly log: Log;
}

/** The whole HTTP side as one function from request to response: it needs no socket. */
export function createApp(options: AppOptions): Hono {
  const app = new Hono();
  for (const route of ROUTES) {
    app.on(route.method, route.path, (c) =>
      answer(route.name, options, (now) => handle(route, c.req.raw, options, now)),
    );
  }
  app.notFound((c) => answer('unknown', options, () => nothingHere(c.req.method, c.req.path)));
  app.onError((error) => answer('unknown', options, () => Promise.reject(error)));
  return app;
}

async function handle(route: Route, request: Request, options: AppOptions, now: number): Promise<Reply> {
  if (route.needsKeys) authorize(options.shelf, request.headers, now);
  return route.handle(request, { ...options, now });
}

type Work = (now: number) => Reply | Promise<Reply>;

/** One time for the whole request. Whatever is thrown on the way becomes an answer. */
async function answer(
  operation: string,
  { signingKey, clock, log }: AppOptions,
  work: Work,
): Promise<Response> {
  const startedMs = clock.readMonotonicMs();
  const now = clock.readWallMs();
  const reply = await attempt(operation, log, () => work(now));
  const { status, bytes, headers } = signReply(reply, signingKey, now);
  const tookMs = Math.round(clock.readMonotonicMs() - startedMs);
  const code = reply.code === undefined ? {} : { code: reply.code };
  log.write('info', 'request', { operation, status, ...code, took_ms: tookMs });
  return new Response(bytes, { status, headers });
}

async function attempt(operation: string, log: Log, work: () => Reply | Promise<Reply>): Promise<Reply> {
  try {
    return await work();
  } catch (error) {
    const reply = errorReply(error);
    if (reply !== null && reply.status < 500) return reply;
    log.write('error', reply === null ? 'bug' : 'failure', { operation, detail: describe(error) });
    return reply ?? bugReply();
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function nothingHere(method: string, path: string): Reply {
  const route = ROUTES.find((one) => one.path === path);
  if (route === undefined)
    return problem('not_found', 'There is nothing at this path. The API is under /api/v4/.');
  const reply = problem('method_not_allowed', `${method} is not possible here. Use ${route.method}.`);
  return { ...reply, headers: { Allow: route.method } };
}
