import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * The load generator has the last core for itself and the server has all others, so that neither takes time
 * from the other and runs can be compared. Where the system cannot do that, or has one core, they share.
 */
const CORES = availableParallelism();
const canPin = CORES > 1 && spawnSync('taskset', ['-c', '0', 'true']).status === 0;

/** The words that start a program on the server's cores. */
export function pinServer(): readonly string[] {
  return canPin ? ['taskset', '-c', `0-${CORES - 2}`] : [];
}

export function pinLoadGenerator(): readonly string[] {
  return canPin ? ['taskset', '-c', String(CORES - 1)] : [];
}

/** Lets a running server use the load generator's core too, or takes it back. */
export function shareCores(pid: number, isShared: boolean): void {
  if (!canPin) return;
  const cores = isShared ? `0-${CORES - 1}` : `0-${CORES - 2}`;
  const { status } = spawnSync('taskset', ['-a', '-p', '-c', cores, String(pid)]);
  if (status !== 0) throw new Error(`Process ${pid} could not be moved to the cores ${cores}.`);
}

export function describeCores(): string {
  if (!canPin) return `${CORES} shared by server and load generator`;
  return `${CORES}: server on ${CORES - 1}, load generator on 1`;
}
