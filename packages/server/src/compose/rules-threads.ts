import { Worker } from 'node:worker_threads';
import { RequestError } from '@berth/protocol/request-error';
import { findBundledFile } from '@berth/shell/files/bundled-files';
import type { RunTask, TaskName } from '../services/rules/rule-tasks.ts';
import type { FromRulesThread, RulesThreadData } from './rules-thread.ts';

interface ThreadLimits {
  /** Of a core. */
  readonly seconds: Readonly<Record<TaskName, number>>;
  readonly megabytes: number;
}

/**
 * The worst text that is not refused at once takes a few seconds, and 200 MB. A month of a busy server has
 * millions of events.
 */
const THREAD_LIMITS: ThreadLimits = { seconds: { parse: 20, import: 20, try: 300 }, megabytes: 512 };

/** On a busy machine, other threads come first: so much longer it may take in all. */
const PATIENCE = 10;
const LOOK_INTERVAL_MS = 500;

const ADVICE: Readonly<Record<TaskName, string>> = {
  parse: 'Write fewer names, groups or expectations.',
  import: 'Split the file.',
  try: 'Try the rules on fewer days, with "since".',
};

/** Does each task in a thread of its own, which is ended when it takes too much, or nobody waits for it. */
export function createRulesThreads(limits = THREAD_LIMITS): RunTask {
  const runTask = (...[name, given, host, signal]: Parameters<RunTask>) => {
    if (signal.aborted) return Promise.reject(goneAway());
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const worker = startThread({ name, given }, limits.megabytes);
    const refuse = (problem: string) =>
      reject(new RequestError('rules_not_valid', `This takes ${problem}. ${ADVICE[name]}`));
    const leave = () => reject(goneAway());
    signal.addEventListener('abort', leave, { once: true });
    const stopWatching = watchTime(worker, limits.seconds[name], refuse);
    worker.on('message', (message: FromRulesThread) => {
      if (message.kind === 'done') resolve(JSON.parse(message.result));
      else if (message.kind === 'refused')
        reject(new RequestError(message.code, message.message, message.details));
      else host?.[message.ask](message.about).then((answer) => worker.postMessage(answer), reject);
    });
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') refuse(`more than ${limits.megabytes} MB of memory`);
      else reject(error);
    });
    worker.on('exit', () => reject(new Error('The thread for rules has ended.')));
    return promise.finally(() => {
      stopWatching();
      signal.removeEventListener('abort', leave);
      void worker.terminate();
    });
  };
  return runTask as RunTask;
}

function watchTime(worker: Worker, seconds: number, refuse: (problem: string) => void): () => void {
  let looks = 0;
  const timer = setInterval(async () => {
    looks += 1;
    // Of a thread that has ended, nothing is known.
    const { user, system } = await worker.cpuUsage().catch(() => ({ user: 0, system: 0 }));
    const isLate = looks * LOOK_INTERVAL_MS > PATIENCE * seconds * 1000;
    if (isLate || user + system > seconds * 1e6) refuse(`longer than ${seconds} seconds`);
  }, LOOK_INTERVAL_MS);
  return () => clearInterval(timer);
}

function startThread(workerData: RulesThreadData, maxOldGenerationSizeMb: number): Worker {
  const bundled = findBundledFile('server/src/compose/rules-thread.ts');
  const code = bundled ?? new URL('./rules-thread.ts', import.meta.url);
  const resourceLimits = { maxOldGenerationSizeMb };
  return new Worker(code, { eval: bundled !== undefined, workerData, resourceLimits });
}

function goneAway(): RequestError {
  return new RequestError('bad_request', 'The client disconnected.');
}
