import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { RequestError } from '@berth/protocol/request-error';
import { ASK_WHAT_IF } from '../services/history/ask-what-if.ts';
import { IMPORT_RULES, PARSE_RULES, TRY_RULES } from '../services/rules/rule-tasks.ts';
import type { Task } from '../services/tasks/task.ts';
import { stepBack } from './step-back.ts';

/** What the thread is started with. */
export interface TaskThreadData {
  readonly name: string;
  readonly given: unknown;
}

export type FromTaskThread =
  | { readonly kind: 'ask'; readonly ask: string; readonly about: unknown }
  /** As JSON, which takes less time than copying objects. */
  | { readonly kind: 'done'; readonly result: string }
  | ({ readonly kind: 'refused' } & Pick<RequestError, 'code' | 'message' | 'details'>);

const TASKS: readonly Task<never, unknown, never>[] = [PARSE_RULES, IMPORT_RULES, TRY_RULES, ASK_WHAT_IF];

const port = parentPort as MessagePort;
const tell = (message: FromTaskThread) => port.postMessage(message);

/** The main thread, which has the store. One question at a time. */
const host = new Proxy(
  {},
  {
    get: (_, ask: string) => (about?: unknown) =>
      new Promise((resolve) => {
        port.once('message', resolve);
        tell({ kind: 'ask', ask, about });
      }),
  },
);

stepBack();
const { name, given } = workerData as TaskThreadData;
const task = TASKS.find((one) => one.name === name) as Task<never, unknown, never>;
// Whoever gives up ends the thread.
task.do(given as never, host as never, new AbortController().signal).then(
  (result) => tell({ kind: 'done', result: JSON.stringify(result) }),
  (error: unknown) => {
    if (!(error instanceof RequestError)) throw error;
    const { code, message, details } = error;
    tell({ kind: 'refused', code, message, details });
  },
);
