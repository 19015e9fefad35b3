import { RequestError } from '@berth/protocol/request-error';

/** Limits how many run at once. */
export interface Room {
  /** Takes a place, or throws if there is none. Returns a function that frees the place. */
  enter(caller?: string): () => void;
}

/** `mostOfCaller`: how many places one caller may have. */
export function createRoom(
  most: number,
  refusal: string,
  retryAfterSeconds: number,
  mostOfCaller = most,
): Room {
  const inside = new Map<symbol, string>();
  return {
    enter(caller = '') {
      const own = inside.values().filter((one) => one === caller);
      if (inside.size >= most || own.toArray().length >= mostOfCaller) {
        throw new RequestError('too_many_requests', refusal, { retryAfterSeconds }, retryAfterSeconds);
      }
      const place = Symbol('place');
      inside.set(place, caller);
      return () => void inside.delete(place);
    },
  };
}
