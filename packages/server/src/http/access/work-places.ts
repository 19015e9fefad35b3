import { RequestError } from '@berth/protocol/request-error';
import type { Caller } from './caller.ts';

/** Places for work that callers can make long. */
export interface WorkPlaces {
  /** Does the work, or refuses it with `too_many_requests`: nobody waits for a place. */
  work<T>(caller: Caller, work: () => Promise<T>): Promise<T>;
}

/** Each takes a core of the machine. */
const MOST = 3;
/** One is left for those who may change the rules. */
const MOST_VIEWERS = 2;
const RETRY_AFTER_SECONDS = 10;

export function createWorkPlaces(): WorkPlaces {
  /** The roles of those who work. */
  const working = new Map<string, Caller['role']>();

  function findObstacle(name: string, role: Caller['role']): string | null {
    if (working.has(name)) return 'You check or try rules already, or ask what would have been.';
    const viewers = [...working.values()].filter((one) => one === 'viewer').length;
    if (working.size < MOST && !(role === 'viewer' && viewers >= MOST_VIEWERS)) return null;
    return 'Others check or try rules, or ask what would have been.';
  }

  return {
    async work({ credential, kind, name, address, role }, work) {
      const who = credential ?? `${kind} ${name} ${address}`;
      const obstacle = findObstacle(who, role);
      if (obstacle !== null) {
        const message = `${obstacle} Try again when that has finished.`;
        const details = { retryAfterSeconds: RETRY_AFTER_SECONDS };
        throw new RequestError('too_many_requests', message, details, RETRY_AFTER_SECONDS);
      }
      working.set(who, role);
      try {
        return await work();
      } finally {
        working.delete(who);
      }
    },
  };
}
