import type { Hono } from 'hono';
import type { AppEnv } from '../app.ts';
import { problem } from '../reply/problem.ts';
import { toResponse } from '../reply/reply.ts';

/** What a socket hands its requests to. */
export type Answering = Pick<Hono<AppEnv>, 'fetch'>;

/**
 * Stands where the app will be, so that the port can be bound before anything is created: a start that fails
 * on a busy port leaves no trace. Whoever comes early is told to come again.
 */
export interface Entrance extends Answering {
  open(app: Answering): void;
}

export function createEntrance(): Entrance {
  let inside: Answering | null = null;
  return {
    fetch: (request, ...rest) =>
      inside === null
        ? toResponse(problem('store_unavailable', 'The server is starting. Try again in a moment.'))
        : inside.fetch(request, ...rest),
    open(app) {
      inside = app;
    },
  };
}
