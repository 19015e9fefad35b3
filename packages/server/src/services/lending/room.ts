import { RequestError } from '@berth/protocol/request-error';

/** Limits how many run at once. */
export interface Room {
  /** Takes a place, or throws if there is none. Returns a function that frees the place, once. */
  enter(): () => void;
}

export function createRoom(most: number, refusal: string, retryAfterSeconds: number): Room {
  let inside = 0;
  return {
    enter() {
      if (inside >= most) {
        throw new RequestError('too_many_requests', refusal, { retryAfterSeconds }, retryAfterSeconds);
      }
      inside += 1;
      let isInside = true;
      return () => {
        if (isInside) inside -= 1;
        isInside = false;
      };
    },
  };
}
