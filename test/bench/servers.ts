import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type StartOptions, startServerProcess } from '../support/server-process.ts';
import { pinServer } from './cores.ts';
import { INSPECTABLE } from './inspect-memory.ts';
import type { Address } from './load/load-plan.ts';
import type { ConstantAnswer } from './yardsticks/constant-answer.ts';

/** A server under load: where it listens, and which process does its work. */
export interface BenchServer extends Address {
  readonly url: string;
  /** `null`: it is none of ours, and its process could not be found. */
  readonly pid: number | null;
  stop(): Promise<void>;
}

/** Programs that answer a heartbeat without a store, and how each is started. */
const YARDSTICKS = {
  http: ['./yardsticks/yardstick.ts', 'http'],
  net: ['./yardsticks/yardstick.ts', 'net'],
  layer: ['./constant-server.ts'],
} as const;

export type YardstickKind = keyof typeof YARDSTICKS;

export function addressOf(url: string): Address {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
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
): Promise<BenchServer> {
  const env = { BERTH_DATABASE_URL: url, BERTH_MASTER_KEY: masterKey };
  return startProcess({ data, env, under: pinServer() });
}

/** The Berth of another clone, in the same way. */
export async function startBerthIn(clone: string, data: string): Promise<BenchServer> {
  return startProcess({ data, under: pinServer(), program: { file: join(clone, 'berth'), args: [] } });
}

export interface InspectableServer extends BenchServer {
  readLog(): string;
}

/** One whose memory can be looked into. */
export async function startInspectableBerth(data: string): Promise<InspectableServer> {
  return startProcess({ data, env: INSPECTABLE, under: pinServer() });
}

async function startProcess(options: StartOptions): Promise<InspectableServer> {
  // All clients of a benchmark have one address.
  const env = { BERTH_LIMITS_NEW_SLOTS_PER_HOUR: '0', ...options.env };
  const server = await startServerProcess({ ...options, env });
  return {
    url: server.url,
    ...addressOf(server.url),
    pid: server.child.pid as number,
    readLog: server.readLog,
    async stop() {
      await server.stop();
    },
  };
}

export async function startYardstick(
  kind: YardstickKind,
  { head, body }: ConstantAnswer,
  folder: string,
): Promise<BenchServer> {
  const files = [join(folder, 'body'), join(folder, 'head')];
  for (const [index, text] of [body, head].entries()) writeFileSync(files[index] as string, text, 'latin1');
  const [program, ...args] = YARDSTICKS[kind];
  const path = fileURLToPath(new URL(program, import.meta.url));
  const words = [...pinServer(), process.execPath, path, ...args, ...files];
  const child = spawn(words[0] as string, words.slice(1), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  const url = await Promise.race([
    once(child, 'message').then(([message]) => String(message)),
    exited.then(() => null),
  ]);
  if (url === null) throw new Error(`The yardstick "${kind}" ended before it was ready.`);
  return {
    url,
    ...addressOf(url),
    pid: child.pid as number,
    async stop() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
