import { hostname, userInfo } from 'node:os';
import process from 'node:process';
import { MACHINE_CLOCKS } from '../clock.ts';
import type { Environment, Host } from '../environment.ts';
import { createId, reportError, setTimer } from '../web/web-environment.ts';
import { checkTls } from './certificates.ts';
import { guardProcess } from './exit-guards.ts';
import { createFileStorage } from './file-storage.ts';
import { findDevice } from './find-device.ts';
import { sendByNode } from './send.ts';

/** Node, Electron's main process, Bun and Deno. */
export function createNodeEnvironment(): Environment {
  return {
    ...MACHINE_CLOCKS,
    random: () => Math.random(),
    createId,
    setTimer,
    checkTls,
    send: sendByNode,
    storage: createFileStorage(),
    host: describeHost(),
    findDevice,
    guardExit: guardProcess,
    reportError,
  };
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
