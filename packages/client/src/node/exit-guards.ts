import { spawnSync } from 'node:child_process';
import process from 'node:process';
import type { ExitGuard, WireRequest } from '../environment.ts';
import { releaseLimit } from '../release-limit.ts';
import { readCertificates } from './certificates.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
type Signal = (typeof SIGNALS)[number];

const guards = new Set<ExitGuard>();

/** Returns the slots of this process when it ends: by itself, by a signal, or by `process.exit()`. */
export function guardProcess(guard: ExitGuard): () => void {
  if (guards.size === 0) listen('on');
  guards.add(guard);
  return () => {
    if (guards.delete(guard) && guards.size === 0) listen('off');
  };
}

function listen(how: 'on' | 'off'): void {
  for (const signal of SIGNALS) process[how](signal, endBySignal);
  process[how]('beforeExit', releaseAll);
  process[how]('exit', releaseAtExit);
  process[how]('uncaughtExceptionMonitor', releaseAtError);
}

async function releaseAll(): Promise<void> {
  const inTime = new Promise((resolve) => setTimeout(resolve, releaseLimit.longestMs).unref());
  const released = Promise.allSettled([...guards].map((guard) => guard.release()));
  await Promise.race([released, inTime]);
}

/** An application that listens to the signal decides itself when it has finished its work. */
async function endBySignal(signal: Signal): Promise<void> {
  if (process.listenerCount(signal) > 1) return;
  await releaseAll();
  guards.clear();
  listen('off');
  process.kill(process.pid, signal);
}

/** Nothing asynchronous happens any more, so another process sends it, and this one waits for that. */
function releaseAtExit(): void {
  const requests = [...guards].flatMap((guard) => addCertificates(guard.describeRelease()));
  if (requests.length === 0) return;
  spawnSync(process.execPath, ['-e', SENDER], {
    env: { ...process.env, ELECTRON_RUN_AS_NODE: '1', NODE_OPTIONS: '' },
    input: JSON.stringify(requests),
    stdio: ['pipe', 'ignore', 'ignore'],
    timeout: releaseLimit.longestMs,
    windowsHide: true,
  });
}

/** A request that cannot be sent must not change how the program ends. */
function addCertificates(request: WireRequest | null): readonly WireRequest[] {
  if (request?.tls === undefined) return request === null ? [] : [request];
  try {
    return [{ ...request, tls: readCertificates(request.tls) }];
  } catch {
    return [];
  }
}

/** Deno ends without `exit` after an uncaught error. */
function releaseAtError(): void {
  if (!('Deno' in globalThis) || process.listenerCount('uncaughtException') > 0) return;
  releaseAtExit();
  // The program might go on after all, and must not use what it has returned.
  for (const guard of guards) void guard.release();
}

const SENDER = `
let text = '';
process.stdin.on('data', (part) => { text += part; }).on('end', () => {
  for (const { url, headers, body, tls } of JSON.parse(text)) {
    const { Agent, request } = require(url.startsWith('https:') ? 'node:https' : 'node:http');
    const agent = new Agent({ proxyEnv: {} });
    request(url, { method: 'POST', headers, agent, ...tls }).on('error', () => {}).end(body);
  }
});`;
