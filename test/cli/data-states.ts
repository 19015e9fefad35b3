import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type CommandResult, runBerth } from '../support/berth-command.ts';
import { startServerHere } from '../support/server-here.ts';
import { seedLicenses, temporaryFolder } from '../support/server-process.ts';

type Env = Readonly<Record<string, string>>;
type Run = (words: string, input?: string, env?: Env) => Promise<CommandResult>;

/** The same data with a server on it, or without. */
const STATES = {
  async running(t: TestContext, data: string, env: Env) {
    const server = await startServerHere({ data, env });
    t.after(server.stop);
  },
  async stopped() {},
} as const;

export async function setUpData(t: TestContext, state: keyof typeof STATES, env: Env = {}) {
  const data = join(temporaryFolder(t), 'data');
  if (env.BERTH_MASTER_KEY === undefined) await seedLicenses(data, []);
  else await (await startServerHere({ data, env })).stop();
  await STATES[state](t, data, env);
  const run: Run = (words, input = '', own = {}) =>
    runBerth(data, words.split(' '), { ...env, ...own }, input);
  return { data, run };
}

export function succeeded({ code, stdout, stderr }: CommandResult): string {
  assert.equal(code, 0, stderr);
  return stdout;
}
