import { hostname, userInfo } from 'node:os';
import process from 'node:process';
import { MACHINE_CLOCKS } from '../clock.ts';
import {
  type Environment,
  type Host,
  NotSentError,
  type WireAnswer,
  type WireRequest,
} from '../environment.ts';
import { createId, reportError, sendByFetch, setTimer } from '../web/web-environment.ts';
import { guardProcess } from './exit-guards.ts';
import { createFileStorage } from './file-storage.ts';

/** Node, Electron's main process, Bun and Deno. */
export function createNodeEnvironment(): Environment {
  return {
    ...MACHINE_CLOCKS,
    random: () => Math.random(),
    createId,
    setTimer,
    send,
    storage: createFileStorage(),
    host: describeHost(),
    guardExit: guardProcess,
    reportError,
  };
}

const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** `fetch` only says that it failed; the reason is in its cause. */
async function send(request: WireRequest): Promise<WireAnswer> {
  try {
    return await sendByFetch(request);
  } catch (error) {
    const cause = (error as { cause?: { code?: string; message?: string } }).cause;
    const reason = cause?.code ?? cause?.message ?? (error as Error).message;
    if (NOT_CONNECTED.has(cause?.code ?? '')) throw new NotSentError(reason, { cause: error });
    throw new Error(reason, { cause: error });
  }
}

function describeHost(): Host {
  return { hostname: hostname(), osUser: findOsUser(), instance: String(process.pid) };
}

/** A container may run under a number that has no name. */
function findOsUser(): string | null {
  try {
    return userInfo().username;
  } catch {
    return null;
  }
}
