import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { ensureTool } from '../../support/install-tools.ts';

const run = promisify(execFile);

/** Two network namespaces with a cable between them: to each, the other is another machine. */
export interface TwoMachines {
  /** The words that start a program on the one, and on the other. */
  readonly onServer: readonly string[];
  readonly onClient: readonly string[];
  /** Where the client finds the server. */
  readonly serverAddress: string;
}

/** Addresses that are kept for examples, and lead nowhere else. */
const SERVER_ADDRESS = '192.0.2.1';
const CLIENT_ADDRESS = '192.0.2.2';

/** They are gone when the test ends; the machine's own network is not touched. `null`: not possible here. */
export async function connectTwoMachines(t: TestContext): Promise<TwoMachines | null> {
  if (process.getuid?.() !== 0 || !(await ensureTool('ip'))) return null;
  const server = await openNamespace(t);
  const client = await openNamespace(t);
  if (server === null || client === null) return null;
  const [onServer, onClient] = [enter(server), enter(client)];
  try {
    await runIn(onServer, `ip link add wire type veth peer name wire netns ${client}`);
  } catch {
    return null;
  }
  for (const [under, address] of [
    [onServer, SERVER_ADDRESS],
    [onClient, CLIENT_ADDRESS],
  ] as const) {
    await runIn(under, `ip address add ${address}/24 dev wire`);
    await runIn(under, 'ip link set wire up');
    await runIn(under, 'ip link set lo up');
  }
  return { onServer, onClient, serverAddress: SERVER_ADDRESS };
}

/** The process that keeps it open ends with its input, so also when the test is killed. */
async function openNamespace(t: TestContext): Promise<number | null> {
  const keeper = spawn('unshare', ['--net', 'sh', '-c', 'echo open; exec cat'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = new Promise<null>((resolve) => {
    keeper.once('error', () => resolve(null));
    keeper.once('exit', () => resolve(null));
  });
  t.after(async () => {
    keeper.stdin.end();
    await ended;
  });
  const opened = await Promise.race([once(keeper.stdout, 'data'), ended]);
  return opened === null ? null : (keeper.pid as number);
}

function enter(pid: number): readonly string[] {
  return ['nsenter', '--target', String(pid), '--net'];
}

async function runIn(under: readonly string[], line: string): Promise<void> {
  const [command, ...words] = [...under, ...line.split(' ')] as [string, ...string[]];
  await run(command, words);
}
