import { Worker } from 'node:worker_threads';
import { RequestError } from '@berth/protocol/request-error';
import { findBundledFile } from '@berth/shell/files/bundled-files';
import { goneAway, type RunTask, stopIf, type Task } from '../services/tasks/task.ts';
import type { FromTaskThread, TaskThreadData } from './task-thread.ts';

const MEGABYTES = 512;

/** Does each task in a thread of its own, which is ended when it takes too much, or nobody waits for it. */
export function createTaskThreads(megabytes = MEGABYTES): RunTask {
  return async <Given, Result, Host>(
    { name, seconds, refusal, advice }: Task<Given, Result, Host>,
    given: Given,
    host: Host,
    signal: AbortSignal,
  ): Promise<Result> => {
    stopIf(signal);
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const worker = startThread({ name, given }, megabytes);
    const refuse = (problem: string) => reject(new RequestError(refusal, `This takes ${problem}. ${advice}`));
    const leave = () => reject(goneAway());
    signal.addEventListener('abort', leave, { once: true });
    const timer = setTimeout(() => refuse(`longer than ${seconds} seconds`), seconds * 1000);
    worker.on('message', (message: FromTaskThread) => {
      if (message.kind === 'done') resolve(JSON.parse(message.result));
      else if (message.kind === 'refused')
        reject(new RequestError(message.code, message.message, message.details));
      else answer(host as Answers, message).then((answered) => worker.postMessage(answered), reject);
    });
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') refuse(`more than ${megabytes} MB of memory`);
      else reject(error);
    });
    worker.on('exit', () => reject(new Error(`The thread of the task "${name}" has ended.`)));
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
      void worker.terminate();
    }
  };
}

type Answers = Readonly<Record<string, (about: unknown) => Promise<unknown>>>;

async function answer(host: Answers, { ask, about }: FromTaskThread & { kind: 'ask' }): Promise<unknown> {
  return host[ask]?.(about);
}

function startThread(workerData: TaskThreadData, maxOldGenerationSizeMb: number): Worker {
  const bundled = findBundledFile('server/src/compose/task-thread.ts');
  const code = bundled ?? new URL('./task-thread.ts', import.meta.url);
  const resourceLimits = { maxOldGenerationSizeMb };
  return new Worker(code, { eval: bundled !== undefined, workerData, resourceLimits });
}
