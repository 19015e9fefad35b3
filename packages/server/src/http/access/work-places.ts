import { createRoom } from '../../services/lending/room.ts';
import { type Caller, callerKey } from './caller.ts';

export type WorkPlaces = ReturnType<typeof createWorkPlaces>;

/** Each takes a core of the machine. */
const MOST = 3;
/** One is left for those who may change the rules. */
const MOST_VIEWERS = 2;
const RETRY_AFTER_SECONDS = 10;

const REFUSAL =
  'You or others check or try rules, or ask what would have been. Try again when that has finished.';

/** Places for work that callers can make long. */
export function createWorkPlaces() {
  const all = createRoom(MOST, REFUSAL, RETRY_AFTER_SECONDS, 1);
  const viewers = createRoom(MOST_VIEWERS, REFUSAL, RETRY_AFTER_SECONDS);
  return {
    /** Does the work, or refuses it with `too_many_requests`: nobody waits for a place. */
    async work<T>(caller: Caller, work: () => Promise<T>): Promise<T> {
      const taken = [all.enter(callerKey(caller))];
      try {
        if (caller.role === 'viewer') taken.push(viewers.enter());
        return await work();
      } finally {
        for (const leave of taken) leave();
      }
    },
  };
}
