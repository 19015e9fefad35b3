import { hostname, userInfo } from 'node:os';
import process from 'node:process';
import { MACHINE_CLOCKS } from '../clock.ts';
import type { Environment, Host, WireAnswer, WireRequest } from '../environment.ts';
import { createId, reportError, sendByFetch, setTimer } from '../web/web-environment.ts';
import { guardProcess } from './exit-guards.ts';
import { explainFailure, type Failure } from './explain-failure.ts';
import { createFileStorage } from './file-storage.ts';
import { findDevice } from './find-device.ts';

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
    findDevice,
    guardExit: guardProcess,
    reportError,
  };
}

async function send(request: WireRequest): Promise<WireAnswer> {
  try {
    return await sendByFetch(request);
  } catch (error) {
    throw explainFailure(error as Failure);
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
