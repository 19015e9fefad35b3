import type { App } from '@berth/web/app';
import { problem } from './reply/problem.ts';

/**
 * A placeholder for the app, so that the port can be bound before anything is created: a start that fails on
 * a busy port changes nothing. Early clients are told to retry.
 */
export interface DeferredApp extends App {
  open(app: App): void;
}

export function deferApp(): DeferredApp {
  let opened: App | null = null;
  return {
    answer: async (request, peer) =>
      opened === null
        ? problem('store_unavailable', 'The server is starting. Try again in a moment.')
        : opened.answer(request, peer),
    findPlain: (path) => opened?.findPlain(path),
    refuse: problem,
    open(app) {
      opened = app;
    },
  };
}
