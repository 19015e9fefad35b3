import type { ErrorCode } from '@berth/protocol/errors';
import { RequestError } from '@berth/protocol/request-error';

/**
 * What takes as long as those who ask want it to: it runs beside the thread that answers requests. What goes
 * in and comes out crosses between threads, and so does what it asks its host.
 */
export interface Task<Given, Result, Host = null> {
  readonly name: string;
  /** The longest time that it may take: on a busy machine, other threads come first. */
  readonly seconds: number;
  /** How it is refused when it takes too long, or too much memory, and what to do then. */
  readonly refusal: ErrorCode;
  readonly advice: string;
  do(given: Given, host: Host, signal: AbortSignal): Promise<Result>;
}

/** `signal`: nobody waits for it any more. */
export type RunTask = <Given, Result, Host>(
  task: Task<Given, Result, Host>,
  given: Given,
  host: Host,
  signal: AbortSignal,
) => Promise<Result>;

/** Tasks ask it between their pages. */
export function stopIf({ aborted }: AbortSignal): void {
  if (aborted) throw goneAway();
}

export function goneAway(): RequestError {
  return new RequestError('bad_request', 'The client disconnected.');
}

/** In this thread, without limits: for commands with data of a stopped server, who wait for nothing else. */
export const runTaskHere: RunTask = (task, given, host, signal) => task.do(given, host, signal);
