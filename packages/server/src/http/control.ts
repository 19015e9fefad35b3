import { randomBytes } from 'node:crypto';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { App } from '@berth/web/app';
import type { HttpRequest } from '@berth/web/http-request';
import { createHttpServer, ListenError, listening, stopServer } from '@berth/web/listen';
import { CONTROL } from '../config.ts';
import { isSameText } from './access/same-text.ts';
import { problem } from './reply/problem.ts';

/** The longest socket path that every system supports. */
const MAX_SOCKET_PATH = 100;

/**
 * The control socket of the command line, in the data folder, which only its owner can open. If the system
 * has no such sockets or the path is too long: a loopback port, and a token in a file that only its owner can
 * read.
 */
export async function listenControl(app: App, dataFolder: string): Promise<() => Promise<void>> {
  const path = join(dataFolder, CONTROL.socket);
  const file = join(dataFolder, CONTROL.file);
  const isSocketUsable = process.platform !== 'win32' && Buffer.byteLength(path) <= MAX_SOCKET_PATH;
  try {
    rmSync(path, { force: true });
    rmSync(file, { force: true });
    return await (isSocketUsable ? listenOnSocket(app, path) : listenOnPort(app, file));
  } catch (error) {
    const { message } = error as Error;
    throw new ListenError(`Cannot open the control socket ${path}: ${message}`);
  }
}

const CONTROL_PEER = { address: 'control', isControl: true } as const;

async function listenOnSocket(app: App, path: string): Promise<() => Promise<void>> {
  const server = createHttpServer({
    answer: (request) => app.answer(request, CONTROL_PEER),
    refuse: app.refuse,
  });
  await listening(server, () => server.listen(path));
  chmodSync(path, 0o600);
  return () => stopServer(server);
}

async function listenOnPort(app: App, file: string): Promise<() => Promise<void>> {
  const token = randomBytes(32).toString('base64url');
  const answer = async (request: HttpRequest) =>
    isSameText(request.headers.get(CONTROL.header) ?? '', token)
      ? app.answer(request, CONTROL_PEER)
      : problem('unauthorized', 'This port is only for the command line on this machine.');
  const server = createHttpServer({ answer, refuse: app.refuse });
  await listening(server, () => server.listen(0, '127.0.0.1'));
  const { port } = server.address() as AddressInfo;
  writeFileSync(file, JSON.stringify({ port, token }), { mode: 0o600 });
  return async () => {
    rmSync(file, { force: true });
    await stopServer(server);
  };
}
