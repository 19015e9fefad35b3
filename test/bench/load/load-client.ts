import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { pinLoadGenerator } from '../cores.ts';
import type { LoadPlan, LoadResult } from './load-plan.ts';

const GENERATOR = fileURLToPath(new URL('./load-generator.ts', import.meta.url));

/** The load generator in its own process, on its own core. */
export interface LoadClient {
  readonly pid: number;
  /** One at a time. */
  run(plan: LoadPlan): Promise<LoadResult>;
  stop(): Promise<void>;
}

type Reply = { readonly result: LoadResult } | { readonly error: string };

export function startLoadClient(): LoadClient {
  const words = [...pinLoadGenerator(), process.execPath, GENERATOR];
  const child = spawn(words[0] as string, words.slice(1), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  return {
    pid: child.pid as number,
    async run(plan) {
      const reply = Promise.race([
        once(child, 'message').then(([message]) => message as Reply),
        exited.then((): Reply => ({ error: 'The load generator ended.' })),
      ]);
      child.send(plan);
      const answer = await reply;
      if ('error' in answer) throw new Error(answer.error);
      return answer.result;
    },
    async stop() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
