import { existsSync, readFileSync } from 'node:fs';
import { request as httpRequest, type RequestOptions } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  Exactly,
  GetAnswer,
  GetPath,
  GetQuery,
  PostAnswer,
  PostBody,
  PostPath,
} from '@berth/protocol/admin/admin-api';
import { CONTROL, type Config } from '../config.ts';

/** The admin API of a running or stopped server. */
export interface AdminClient {
  /** Whether a server runs; else its data was opened for this client. */
  readonly isRunning: boolean;
  get<P extends GetPath, Q extends GetQuery<P>>(
    path: P,
    query?: Q & Exactly<Q, GetQuery<P>>,
  ): Promise<AdminAnswer<GetAnswer<P>>>;
  post<P extends PostPath, B extends PostBody<P>>(
    path: P,
    body?: B & Exactly<B, PostBody<P>>,
  ): Promise<AdminAnswer<PostAnswer<P>>>;
  /** Sends a file as it is. */
  upload<P extends PostPath>(path: P, text: string): Promise<AdminAnswer<PostAnswer<P>>>;
  /** Returns a stream, or `null` if the server is stopped. */
  follow<P extends GetPath>(path: P, query: GetQuery<P>): Promise<AdminStream | RefusedAnswer | null>;
  /** Passes on a long answer in chunks as it arrives. */
  download<P extends GetPath>(path: P, query: GetQuery<P>, take: TakeChunk): Promise<AdminAnswer<object>>;
  downloadPost<P extends PostPath>(path: P, body: PostBody<P>, take: TakeChunk): Promise<AdminAnswer<object>>;
  close(): Promise<void>;
}

type Query = Readonly<Record<string, string | number | null | undefined>>;

interface AdminStream {
  readonly chunks: AsyncIterable<string>;
  end(): void;
}

/** An answer in JSON. */
export type AdminAnswer<Body> =
  | {
      readonly ok: true;
      readonly body: Body;
      /** Whether it has already been printed. */
      readonly isPrinted?: boolean;
    }
  | RefusedAnswer;

export interface RefusedAnswer {
  readonly ok: false;
  readonly body: { readonly status?: number; readonly code?: string; readonly message: string };
}

/** Adds the input to the answer, to be shown with it. */
export function withFacts<Body extends object, Facts extends object>(
  answer: AdminAnswer<Body>,
  facts: Facts,
): AdminAnswer<Body & Facts> {
  return answer.ok ? { ...answer, body: { ...answer.body, ...facts } } : answer;
}

type TakeChunk = (chunk: Uint8Array) => Promise<void>;

interface StoppedReply {
  readonly status: number;
  readonly body: string | Uint8Array | ReadableStream<Uint8Array> | null;
}

export interface StoppedServer {
  answer(method: string, path: string, body: string | null): Promise<StoppedReply>;
  close(): Promise<void>;
}

/** Opens the data of a stopped server; `null` if another process uses it. */
type OpenStopped = () => Promise<StoppedServer | null>;

/** A process uses the data but does not answer. */
export class ServerUnreachable extends Error {}

const ATTEMPT_INTERVAL_MS = 100;
/** As busy as a server may be, it answers sooner. */
export const ANSWER_LIMIT_MS = 5000;

interface Connecting {
  readonly config: Pick<Config, 'data'>;
  readonly openStopped: OpenStopped;
  readonly describeHolder: (folder: string) => Promise<string>;
  /** A server that says nothing for this long counts as one that hangs. */
  readonly limitMs: number;
}

/**
 * Connects to the server: over its socket if it runs, in this process if it is stopped. While it starts or
 * stops, or another command runs, this retries for a while.
 */
export async function connectAdmin({
  config: { data },
  openStopped,
  describeHolder,
  limitMs,
}: Connecting): Promise<AdminClient> {
  const hangs = async () =>
    new ServerUnreachable(
      `The server does not answer: ${data} is in use by ${await describeHolder(data)}, which has said ` +
        `nothing for ${limitMs / 1000} seconds. Wait if it is starting; if it hangs, end that process and ` +
        'start the server again.',
    );
  const silence = AbortSignal.timeout(limitMs);
  do {
    const stopped = await openStopped();
    if (stopped !== null) return createClient(false, sendTo(stopped), () => stopped.close());
    const address = findControl(data);
    if (address !== null && (await isAnswering(address, silence))) {
      return createClient(true, sendOver(address, limitMs, hangs), async () => {});
    }
    await delay(ATTEMPT_INTERVAL_MS);
  } while (!silence.aborted);
  throw await hangs();
}

/** An answer whose body has not been read yet. */
interface Incoming {
  readonly status: number;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Closes the connection; missing if there is none. */
  end?(): void;
}

type Send = (method: string, path: string, body: string | null) => Promise<Incoming>;

function createClient(isRunning: boolean, send: Send, close: () => Promise<void>): AdminClient {
  const call = async <Body>(method: string, path: string, body: string | null) => {
    const { status, chunks } = await send(method, path, body);
    return { ok: status === 200, body: JSON.parse(await readAll(chunks)) } as AdminAnswer<Body>;
  };
  const download = async (method: string, path: string, body: string | null, take: TakeChunk) => {
    const { status, chunks } = await send(method, path, body);
    if (status !== 200) return refuse(chunks);
    for await (const chunk of chunks) await take(chunk);
    return { ok: true, body: {} } as const;
  };
  return {
    isRunning,
    get: (path, query?: Query) => call('GET', path + queryString(query), null),
    post: (path, body?: object) => call('POST', path, JSON.stringify(body ?? {})),
    upload: (path, text) => call('POST', path, text),
    async follow(path, query) {
      const { status, chunks, end } = await send('GET', path + queryString(query), null);
      if (status !== 200) return refuse(chunks);
      return end === undefined ? null : { chunks: asText(chunks), end };
    },
    download: (path, query, take) => download('GET', path + queryString(query), null, take),
    downloadPost: (path, body, take) => download('POST', path, JSON.stringify(body), take),
    close,
  };
}

async function refuse(chunks: AsyncIterable<Uint8Array>): Promise<RefusedAnswer> {
  return { ok: false, body: JSON.parse(await readAll(chunks)) };
}

async function readAll(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(chunks)).toString('utf8');
}

async function* asText(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
}

function queryString(query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

function sendTo(stopped: StoppedServer): Send {
  return async (method, path, body) => {
    const reply = await stopped.answer(method, path, body);
    return { status: reply.status, chunks: chunksOf(reply.body) };
  };
}

async function* chunksOf(body: StoppedReply['body']): AsyncGenerator<Uint8Array> {
  if (body instanceof ReadableStream) yield* body;
  else if (body !== null) yield Buffer.from(body);
}

type ControlAddress = Pick<RequestOptions, 'socketPath' | 'host' | 'port' | 'headers' | 'signal'>;

/** Where the running server listens for commands: see `http/control.ts`. */
function findControl(folder: string): ControlAddress | null {
  const file = join(folder, CONTROL.file);
  if (existsSync(file)) {
    const { port, token } = JSON.parse(readFileSync(file, 'utf8')) as { port: number; token: string };
    return { host: '127.0.0.1', port, headers: { [CONTROL.header]: token } };
  }
  const socketPath = join(folder, CONTROL.socket);
  return existsSync(socketPath) ? { socketPath } : null;
}

async function isAnswering(address: ControlAddress, silence: AbortSignal): Promise<boolean> {
  try {
    const { status, chunks } = await send({ ...address, signal: silence }, 'GET', '/', null);
    await readAll(chunks);
    return status === 200;
  } catch {
    return false;
  }
}

/**
 * Some answers take minutes. So while one is awaited, this asks now and then whether the server still answers
 * at all.
 */
function sendOver(address: ControlAddress, limitMs: number, hangs: () => Promise<ServerUnreachable>): Send {
  return async (method, path, body) => {
    const hung = new AbortController();
    const watch = setInterval(async () => {
      const silence = AbortSignal.timeout(limitMs);
      // A server that stops takes no new connection, but still answers.
      if (!(await isAnswering(address, silence)) && silence.aborted) hung.abort();
    }, limitMs).unref();
    const explain = async (error: unknown) => (hung.signal.aborted ? hangs() : wentAway(error as Error));
    try {
      const incoming = await send({ ...address, signal: hung.signal }, method, path, body);
      return { ...incoming, chunks: explained(incoming.chunks, explain, () => clearInterval(watch)) };
    } catch (error) {
      clearInterval(watch);
      throw await explain(error);
    }
  };
}

/** For TLS only. Without it, Node finds out whether the host is an address, which takes it 5 milliseconds. */
const NO_SERVER_NAME = { servername: '' };

function send(address: ControlAddress, method: string, path: string, body: string | null): Promise<Incoming> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ ...address, ...NO_SERVER_NAME, method, path }, (incoming) =>
      resolve({ status: incoming.statusCode ?? 0, chunks: incoming, end: () => outgoing.destroy() }),
    );
    outgoing.on('error', reject);
    outgoing.end(body ?? undefined);
  });
}

async function* explained(
  chunks: AsyncIterable<Uint8Array>,
  explain: (error: unknown) => Promise<Error>,
  done: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } catch (error) {
    throw await explain(error);
  } finally {
    done();
  }
}

function wentAway({ message }: Error): ServerUnreachable {
  return new ServerUnreachable(`The server closed the connection before it answered: ${message}.`);
}
