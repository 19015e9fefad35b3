import type {
  Exactly,
  GetAnswer,
  GetPath,
  GetQuery,
  PostAnswer,
  PostBody,
  PostPath,
} from '@berth/protocol/admin/admin-api';
import { formatSeconds } from '../words/time.ts';
import { connection } from './connection.ts';

/** A refusal or a failure, in the server's words. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(status: number, code: string, message: string, facts: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.facts = facts;
  }
}

export function toApiError(failure: unknown): ApiError {
  return failure instanceof ApiError ? failure : new ApiError(0, 'unknown', String(failure));
}

/** Proves to the server that a change comes from this page; changes with every session. */
let csrfToken: string | null = null;
let onSessionEnd = () => {};
let onUnreachable = () => {};
let onUnconfirmed: AskToConfirm = (_, refusal) => Promise.reject(refusal);

/** Sends a request again, with further fields. */
export type SendConfirmed = (confirmation: Readonly<Record<string, string>>) => Promise<Response>;
type AskToConfirm = (sendWith: SendConfirmed, refusal: ApiError) => Promise<Response>;

export function setCsrfToken(token: string | null): void {
  csrfToken = token;
}

/** Called when the server no longer knows the session. */
export function whenSessionEnds(callback: () => void): void {
  onSessionEnd = callback;
}

/** Called when a request has to be confirmed. */
export function whenUnconfirmed(ask: AskToConfirm): void {
  onUnconfirmed = ask;
}

/** Called when a request gets no answer. */
export function whenUnreachable(callback: () => void): void {
  onUnreachable = callback;
}

/** Relative, so that the page works below any path of a proxy. */
export function addressOf<P extends GetPath, Q extends GetQuery<P>>(
  path: P,
  params?: Q & Exactly<Q, GetQuery<P>>,
): string {
  const given = Object.entries(params ?? {}).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  );
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return given.length === 0 ? path.slice(1) : `${path.slice(1)}?${query}`;
}

export function get<P extends GetPath, Q extends GetQuery<P>>(
  path: P,
  params?: Q & Exactly<Q, GetQuery<P>>,
  signal?: AbortSignal,
): Promise<GetAnswer<P>> {
  return read(addressOf(path, params), signal);
}

/** Reads what is at an address. */
export async function read<T>(address: string, signal?: AbortSignal): Promise<T> {
  const response = await send(address, { headers: { accept: 'application/json' } }, signal);
  return (await response.json()) as T;
}

export async function post<P extends PostPath, B extends PostBody<P>>(
  path: P,
  body?: B & Exactly<B, PostBody<P>>,
): Promise<PostAnswer<P>> {
  return (await postFor(path, body)).json();
}

/** The whole response, for answers that are not JSON. Asks for a confirmation where the server wants one. */
export async function postFor<P extends PostPath>(
  path: P,
  body: PostBody<P> | undefined,
  signal?: AbortSignal,
): Promise<Response> {
  const sendWith: SendConfirmed = (confirmation) => {
    const headers = { 'content-type': 'application/json', ...csrfHeader() };
    const text = JSON.stringify({ ...body, ...confirmation });
    return change(path.slice(1), { method: 'POST', headers, body: text }, signal);
  };
  try {
    return await sendWith({});
  } catch (failure) {
    if (toApiError(failure).code !== 'confirmation_required') throw failure;
    return onUnconfirmed(sendWith, toApiError(failure));
  }
}

/** Between two tries. */
const BUSY_MS = 2000;

/** Tries again while the server has no place for long work, such as a trial of rules. */
export async function whenFree<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (failure) {
      if (signal.aborted || toApiError(failure).code !== 'too_many_requests') throw failure;
      await new Promise((resolve) => setTimeout(resolve, BUSY_MS));
    }
  }
}

/** Sends a file as it is. */
export async function upload<P extends PostPath>(path: P, file: Blob): Promise<PostAnswer<P>> {
  const headers = { 'content-type': 'application/octet-stream', ...csrfHeader() };
  return (await change(path.slice(1), { method: 'POST', headers, body: file })).json();
}

const UNREACHABLE = 'The server does not answer. Check that it runs and that you reach it.';

/** While the connection is lost, changes are not even tried: a late answer would leave their outcome open. */
async function change(address: string, init: RequestInit, signal?: AbortSignal): Promise<Response> {
  const loss = findLoss();
  if (loss !== null) throw new ApiError(0, 'connection_lost', loss);
  return send(address, init, signal);
}

function findLoss(): string | null {
  const { state, heardAt } = connection.get();
  if (state !== 'lost') return null;
  const since = `The connection to the server has been lost since ${formatSeconds(heardAt)}.`;
  return `${since} Nothing was changed. Try again when it is back.`;
}

function csrfHeader(): Record<string, string> {
  return csrfToken === null ? {} : { 'x-berth-csrf': csrfToken };
}

export async function send(address: string, init: RequestInit, signal?: AbortSignal): Promise<Response> {
  const options = { ...init, credentials: 'same-origin', signal: signal ?? null } as const;
  const ownSession = csrfToken;
  const response = await fetch(address, options).catch((error: Error) => {
    if (error.name === 'AbortError') throw error;
    onUnreachable();
    throw new ApiError(0, 'unreachable', UNREACHABLE);
  });
  if (response.ok) return response;
  const error = await readProblem(response);
  // A late answer to the session before this one ends nothing.
  const isOfThisSession = ownSession === csrfToken && !/session\/start|setPassword/.test(address);
  const isEnd = error.status === 401 && error.code !== 'second_factor_required';
  if (isEnd && isOfThisSession) onSessionEnd();
  throw error;
}

/** The parts of a stream; Safari cannot loop over it. */
export async function* chunksOf<T>(stream: ReadableStream<T>): AsyncGenerator<T> {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

async function readProblem(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  try {
    const { status, code, message, ...facts } = JSON.parse(text);
    return new ApiError(response.status, String(code ?? status), String(message), facts);
  } catch {
    return new ApiError(response.status, 'unknown', `The server answered with status ${response.status}.`);
  }
}
