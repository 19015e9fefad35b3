import type { KeyObject } from 'node:crypto';
import { placeOf } from '@berth/protocol/address-range';
import type { App } from '@berth/web/app';
import type { HttpRequest } from '@berth/web/http-request';
import type { TextReply } from '@berth/web/reply';
import { createRouter, describeMethods, refuseMethod } from '@berth/web/router';
import type { Clock } from '../clock.ts';
import type { CloudStore } from '../store/cloud-store.ts';
import type { KeyRing } from '../store/keys/key-ring.ts';
import { authorize } from './authorize.ts';
import { bindContent, bindReply, startBinding } from './bind-reply.ts';
import { createGuessLimit } from './limits/guess-limit.ts';
import type { Log } from './log.ts';
import { findProblem, INTERNAL_ERROR, type Problem } from './problem.ts';
import { problem, type Reply } from './reply.ts';
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

/** The whole HTTP API as a function from request to reply, without a socket. */
export function createApp(options: AppOptions): App {
  const { keyRing, clock } = options;
  const router = createRouter(ROUTES);
  const limitGuesses = createGuessLimit(clock.readMonotonicMs);
  return {
    answer(request, peer) {
      const { here, route, isAllowed } = router.find(request);
      if (route === undefined || !isAllowed || request.method === 'OPTIONS')
        return answer(NO_ROUTE, options, request, () => answerUnrouted(request.method, here));
      const address = placeOf(peer.address);
      // Separate limits: a client that guesses in the portal does not slow down a server at the same address.
      const who = `${route.needsKeys ? 'keys' : 'portal'} ${address}`;
      const shared = { ...options, address, limitGuesses: (work: Work) => limitGuesses(who, work) };
      return answer(route, options, request, (facts) => handle(route, request, { ...shared, ...facts }));
    },
    // The cloud has too few requests to need the fast lane.
    findPlain: () => undefined,
    refuse: (code, message) => signReply(problem(code, message), keyRing.read().current, clock.readWallMs()),
  };
}

const NO_ROUTE = { name: 'unknown' };

/** Reads bodies first, so that a slow client does not delay others from the same address. */
async function handle(route: Route, request: HttpRequest, context: Context): Promise<Reply> {
  if (!route.needsKeys) return route.handle(request, context);
  const caller = authorize(context.store, request.headers, context.now);
  const noted = await bindContent(request, context.binding);
  return context.limitGuesses(() => route.handle(noted, { ...context, caller }));
}

type Work = () => Reply | Promise<Reply>;
type RequestFacts = Pick<Context, 'now' | 'binding' | 'signingKeys'>;
type Answering = Pick<Route, 'name' | 'explain'>;

/** Uses one time for the whole request and turns every exception into a response. */
async function answer(
  route: Answering,
  options: AppOptions,
  request: HttpRequest,
  work: (facts: RequestFacts) => Reply | Promise<Reply>,
): Promise<TextReply> {
  const { keyRing, clock, log } = options;
  const startedMs = clock.readMonotonicMs();
  const now = clock.readWallMs();
  const binding = startBinding(request.headers);
  // One set of keys for the whole request, too: what is signed in an answer fits the answer.
  const signingKeys = keyRing.read();
  const reply = await attempt(route, log, () => work({ now, binding, signingKeys }));
  const signed = signReply(bindReply(reply, binding), signingKeys.current, now);
  const ms = Math.round(clock.readMonotonicMs() - startedMs);
  const code = reply.code === undefined ? {} : { code: reply.code };
  log.write('info', 'request', { route: route.name, status: reply.status, ...code, ms });
  return signed;
}

async function attempt(route: Answering, log: Log, work: Work): Promise<Reply> {
  const explain = route.explain ?? explainInJson;
  try {
    return await work();
  } catch (error) {
    const found = findProblem(error);
    const reply = explain(found ?? INTERNAL_ERROR);
    if (reply.status < 500) return reply;
    const detail = describe(error);
    log.write('error', found === null ? 'bug' : 'request failed', { route: route.name, detail });
    return reply;
  }
}

function explainInJson({ code, message, details }: Problem): Reply {
  return problem(code, message, details);
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function answerUnrouted(method: string, here: readonly Route[]): Reply {
  if (here.length === 0)
    return problem('not_found', 'There is nothing at this path. The API is under /api/v4/.');
  if (method === 'OPTIONS') return describeMethods(here);
  return { ...refuseMethod(method, here), code: 'method_not_allowed' };
}
