import assert from 'node:assert/strict';
import { join } from 'node:path';
import { runBerth } from '../../support/berth-command.ts';
import { pollUntil } from '../../support/poll.ts';
import { startServerHere } from '../../support/server-here.ts';
import { startServerProcess, temporaryFolder } from '../../support/server-process.ts';
import { curl } from './curl.ts';

/** What an administrator replaces the one-time password with. */
export const OWN_PASSWORD = 'a password of my own';

export interface FreshServer {
  readonly url: string;
  readonly data: string;
  /** As the first start has printed it. */
  readonly oneTimePassword: string;
}

interface FreshServerOptions {
  readonly args?: readonly string[];
  readonly under?: readonly string[];
}

interface TestLife {
  after(work: () => unknown): void;
}

/** A server on a folder of its own that nobody has set up. */
export async function startFreshServer(t: TestLife, options: FreshServerOptions = {}): Promise<FreshServer> {
  const { args = [], under = [] } = options;
  if (under.length > 0) return startFreshProcess(t, options);
  const data = join(temporaryFolder(t), 'data');
  const { url, announced, stop } = await startServerHere({ data, args: ['--demo', ...args] });
  t.after(stop);
  return { url, data, oneTimePassword: findPassword(announced) as string };
}

/** The same in a process of its own. */
export async function startFreshProcess(t: TestLife, { args = [], under = [] }: FreshServerOptions = {}) {
  const data = join(temporaryFolder(t), 'data');
  const server = await startServerProcess({ data, args: ['--demo', ...args], under });
  t.after(() => server.stop('SIGKILL'));
  const oneTimePassword = await pollUntil('the one-time password is printed', () =>
    findPassword(server.readLog()),
  );
  return { url: server.url, data, process: server, oneTimePassword };
}

function findPassword(text: string): string | undefined {
  return /the one-time password {2}(\S+)$/m.exec(text)?.[1];
}

/** The token that a name and a password are exchanged for. */
export async function signIn(
  url: string,
  name: string,
  password: string,
  under: readonly string[] = [],
): Promise<string> {
  const { status, text } = await curl([`${url}/auth`, '-u', `${name}:${password}`], under);
  assert.equal(status, 200, text);
  return JSON.parse(text).token;
}

/** Ends the setup, as the API has it: the password that was printed for one of one's own. */
export async function replacePassword({ url, oneTimePassword }: FreshServer): Promise<void> {
  const query = new URLSearchParams({ passwordOld: oneTimePassword, passwordNew: OWN_PASSWORD });
  const { status, text } = await curl([`${url}/api/v4/setPassword?${query}`]);
  assert.equal(status, 200, text);
}

/** A token that the administrator makes for a program. */
export async function createToken(data: string, role: string): Promise<string> {
  const { stdout, stderr } = await runBerth(data, ['token', 'create', `for ${role}`, '--role', role]);
  const token = /^[\w-]{43}$/m.exec(stdout)?.[0];
  assert.ok(token !== undefined, stderr);
  return token;
}

export async function addAccount(data: string, name: string, role: string): Promise<void> {
  const words = ['user', 'add', name, '--role', role];
  const { code, stderr } = await runBerth(data, words, {}, `${OWN_PASSWORD}\n`);
  assert.equal(code, 0, stderr);
}
