import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type StartOptions, startServerProcess } from '../support/server-process.ts';
import { pinServer } from './cores.ts';

const CONSTANT_SERVER = fileURLToPath(new URL('./constant-server.ts', import.meta.url));

/** A server under load: where it listens, and which process does its work. */
export interface BenchServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

/** A folder for one run, and what removes it. */
export function makeFolder(): { readonly folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/**
 * The real server, as `berth serve` starts it, on the server's cores. A program that it is started under must
 * make way for it and keep to the background, as `strace -D` does.
 */
export async function startBerth(data: string, under: readonly string[] = []): Promise<BenchServer> {
  return startProcess({ data, under: [...pinServer(), ...under] });
}

/** The same on a database, which others may use too. */
export async function startBerthOn(
  { url, masterKey }: { readonly url: string; readonly masterKey: string },
  data: string,
  args: readonly string[] = [],
): Promise<BenchServer> {
  const env = { BERTH_DATABASE_URL: url, BERTH_MASTER_KEY: masterKey };
  return startProcess({ data, args, env, under: pinServer() });
}

async function startProcess(options: StartOptions): Promise<BenchServer> {
  const server = await startServerProcess(options);
  return {
    url: server.url,
    port: portOf(server.url),
    pid: server.child.pid as number,
    async stop() {
      await server.stop();
    },
  };
}

export async function startConstantServer(answer: string, folder: string): Promise<BenchServer> {
  const file = join(folder, 'answer.json');
  writeFileSync(file, answer);
  const words = [...pinServer(), process.execPath, CONSTANT_SERVER, file];
  const child = spawn(words[0] as string, words.slice(1), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  const url = await Promise.race([
    once(child, 'message').then(([message]) => String(message)),
    exited.then(() => null),
  ]);
  if (url === null) throw new Error('The constant server ended before it was ready.');
  return {
    url,
    port: portOf(url),
    pid: child.pid as number,
    async stop() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
