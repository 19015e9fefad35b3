import { existsSync, readFileSync } from 'node:fs';
import { request as httpRequest, type RequestOptions } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config.ts';

/** The admin API of the server, running or not. */
export interface AdminClient {
  get(path: string, query?: Query): Promise<AdminAnswer>;
  post(path: string, body?: Readonly<Record<string, unknown>>): Promise<AdminAnswer>;
  /** Sends a file as it is. */
  upload(path: string, text: string): Promise<AdminAnswer>;
  /** An answer that goes on; `null`: the server is stopped, and nothing goes on. */
  follow(path: string, query: Query): Promise<AdminStream | AdminAnswer | null>;
  close(): Promise<void>;
}

type Query = Readonly<Record<string, string | undefined>>;

export interface AdminStream {
  readonly chunks: AsyncIterable<string>;
  end(): void;
}

export interface AdminAnswer {
  readonly ok: boolean;
  /** Parsed JSON: the answer, or `{status, code, message}`. */
  readonly body: never;
}

export interface StoppedServer {
  fetch(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/** Opens the data of a stopped server; `null` when another process has it. */
export type OpenStopped = () => Promise<StoppedServer | null>;

/** Somebody has the data, but does not answer. */
export class ServerUnreachable extends Error {}

const ATTEMPTS = 50;
const ATTEMPT_INTERVAL_MS = 100;

/**
 * Finds the server: in this process when it is stopped, over its socket when it runs. In between it is
 * starting, stopping, or another command is at work: then it is tried again for a while.
 */
export async function connectAdmin(config: Config, openStopped: OpenStopped): Promise<AdminClient> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const stopped = await openStopped();
    if (stopped !== null)
      return createClient(
        sendTo(stopped),
        async () => null,
        () => stopped.close(),
      );
    const address = findControl(config.data);
    if (address !== null && (await isAnswering(address))) {
      return createClient(
        (method, path, body) => sendOver(address, method, path, body),
        (path) => followOver(address, path),
        async () => {},
      );
    }
    await delay(ATTEMPT_INTERVAL_MS);
  }
  throw new ServerUnreachable(
    `Another Berth process holds ${config.data}, but does not answer. Is it starting or hanging?`,
  );
}

type Send = (method: string, path: string, body: string | null) => Promise<{ status: number; text: string }>;

type Follow = (path: string) => ReturnType<AdminClient['follow']>;

function createClient(send: Send, follow: Follow, close: () => Promise<void>): AdminClient {
  const call = async (method: string, path: string, body: string | null): Promise<AdminAnswer> => {
    const { status, text } = await send(method, path, body);
    return { ok: status === 200, body: JSON.parse(text) as never };
  };
  return {
    get: (path, query = {}) => call('GET', path + queryString(query), null),
    post: (path, body = {}) => call('POST', path, JSON.stringify(body)),
    upload: (path, text) => call('POST', path, text),
    follow: (path, query) => follow(path + queryString(query)),
    close,
  };
}

function queryString(query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

function sendTo(stopped: StoppedServer): Send {
  return async (method, path, body) => {
    const response = await stopped.fetch(new Request(`http://localhost${path}`, { method, body }));
    return { status: response.status, text: await response.text() };
  };
}

type ControlAddress = Pick<RequestOptions, 'socketPath' | 'host' | 'port' | 'headers'>;

/** Where the running server listens for us: see `http/control.ts`. */
function findControl(folder: string): ControlAddress | null {
  const file = join(folder, 'control.json');
  if (existsSync(file)) {
    const { port, token } = JSON.parse(readFileSync(file, 'utf8')) as { port: number; token: string };
    return { host: '127.0.0.1', port, headers: { 'x-berth-control': token } };
  }
  const socketPath = join(folder, 'berth.sock');
  return existsSync(socketPath) ? { socketPath } : null;
}

async function isAnswering(address: ControlAddress): Promise<boolean> {
  try {
    return (await sendOver(address, 'GET', '/', null)).status === 200;
  } catch {
    return false;
  }
}

function followOver(address: ControlAddress, path: string): ReturnType<AdminClient['follow']> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ ...address, method: 'GET', path }, (incoming) => {
      const chunks = readChunks(incoming.setEncoding('utf8'));
      if (incoming.statusCode === 200) resolve({ chunks, end: () => outgoing.destroy() });
      else readAnswer(chunks).then(resolve, reject);
    });
    outgoing.on('error', (error) => reject(wentAway(error)));
    outgoing.end();
  });
}

async function* readChunks(incoming: AsyncIterable<string>): AsyncGenerator<string> {
  try {
    yield* incoming;
  } catch (error) {
    throw new ServerUnreachable(`The connection to the server broke off: ${(error as Error).message}.`);
  }
}

async function readAnswer(chunks: AsyncIterable<string>): Promise<AdminAnswer> {
  const texts = await Array.fromAsync(chunks);
  return { ok: false, body: JSON.parse(texts.join('')) as never };
}

function wentAway({ message }: Error): ServerUnreachable {
  return new ServerUnreachable(`The server went away before it answered: ${message}.`);
}

function sendOver(address: ControlAddress, method: string, path: string, body: string | null) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const fail = (error: Error) => reject(wentAway(error));
    const outgoing = httpRequest({ ...address, method, path }, (incoming) => {
      let text = '';
      incoming.on('error', fail);
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk: string) => {
        text += chunk;
      });
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, text }));
    });
    outgoing.on('error', fail);
    outgoing.end(body ?? undefined);
  });
}
