import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { RequestError } from '@berth/protocol/request-error';
import { RULE_TASKS, type RunTask, type TaskHost } from '../services/rules/rule-tasks.ts';
import { stepBack } from './step-back.ts';

/** What the thread is started with. */
export interface RulesThreadData {
  readonly name: Parameters<RunTask>[0];
  readonly given: Parameters<RunTask>[1];
}

export type FromRulesThread =
  | { readonly kind: 'ask'; readonly ask: keyof TaskHost; readonly about: never }
  /** As JSON, which takes less time than copying objects. */
  | { readonly kind: 'done'; readonly result: string }
  | ({ readonly kind: 'refused' } & Pick<RequestError, 'code' | 'message' | 'details'>);

const port = parentPort as MessagePort;
const tell = (message: FromRulesThread) => port.postMessage(message);

/** Asks the main thread, which has the store. One question at a time. */
function askHost(ask: keyof TaskHost): (about?: unknown) => Promise<never> {
  return (about) =>
    new Promise((resolve) => {
      port.once('message', resolve);
      tell({ kind: 'ask', ask, about: about as never });
    });
}

const host = { read: askHost('read'), keepClock: askHost('keepClock'), findMembers: askHost('findMembers') };

stepBack();
const { name, given } = workerData as RulesThreadData;
// Whoever gives up ends the thread.
RULE_TASKS[name](given as never, host, new AbortController().signal).then(
  (result) => tell({ kind: 'done', result: JSON.stringify(result) }),
  (error: unknown) => {
    if (!(error instanceof RequestError)) throw error;
    const { code, message, details } = error;
    tell({ kind: 'refused', code, message, details });
  },
);
